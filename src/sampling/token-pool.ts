/**
 * The tokens that a draw chooses from, with their weights: all tokens of the loaded row at first,
 * fewer after truncation. One pool is filled anew for each draw and keeps its memory.
 */
import { type Cut, findCut } from "./cut.ts";
import { rowKernels } from "./kernels/row-kernels.ts";

/** Rounding of sums must not add a token to a nucleus that is reached exactly. */
const massTolerance = 1e-12;
/** Tokens lighter than this, where the likeliest weighs 1, are never drawn. */
const weightMin = Math.exp(-40);

export class TokenPool {
  /** False while the pool is the whole row. */
  #isCompact = false;
  #ids = new Uint32Array(0);
  #values = new Float32Array(0);
  /** Weight of the likeliest token is 1; the sum is not normalised. */
  #weights = new Float64Array(0);
  #size = 0;
  /** The sum of the weights. */
  #total = 0;

  /**
   * Begins with all tokens of the row that the kernels hold, weighed at a temperature; false when
   * its largest logit is not finite.
   */
  start(temperature: number): boolean {
    const max = rowKernels.maximum();
    if (!Number.isFinite(max)) return false;
    this.#isCompact = false;
    this.#size = rowKernels.values.length;
    this.#total = rowKernels.weigh(max, 1 / temperature);
    return true;
  }

  /** Keeps the `count` likeliest; at a tie the lower ids. */
  keepTop(count: number): void {
    if (count >= this.#size) return;
    this.#compact(weightMin);
    if (count < this.#size) this.#keep(findCut(this.#values, undefined, this.#size, count));
  }

  /** Keeps the fewest likeliest tokens that have this share of the weight together. */
  keepShare(share: number): void {
    const limit = share * this.#total * (1 - massTolerance);
    // All tokens lighter than this weigh less than 1 - share together: none of them is needed.
    const needless = ((1 - share) * this.#total * (1 - 1e-9)) / this.#size;
    this.#compact(Math.max(needless, weightMin));
    this.#keep(findCut(this.#values, this.#weights, this.#size, limit));
  }

  /** Keeps tokens that weigh at least this much, where the likeliest weighs 1. */
  keepWeight(least: number): void {
    this.#compact(Math.max(least, weightMin));
    const weights = this.#weights;
    let kept = 0;
    for (let index = 0; index < this.#size; index += 1) {
      if ((weights[index] as number) < least) continue;
      this.#move(index, kept);
      kept += 1;
    }
    this.#resize(kept);
  }

  /** The token at this share (in [0, 1)) of the weight, in the order of ids. */
  draw(share: number): number {
    const weights = this.#isCompact ? this.#weights : rowKernels.weights;
    const target = share * this.#total;
    let sum = 0;
    let last = 0;
    for (let index = 0; index < this.#size; index += 1) {
      const weight = weights[index] as number;
      if (weight < weightMin) continue;
      last = index;
      sum += weight;
      if (sum > target) break;
    }
    return this.#isCompact ? (this.#ids[last] as number) : last;
  }

  /** Moves the tokens that weigh at least this much into the pool's own memory. */
  #compact(least: number): void {
    if (this.#isCompact) return;
    const selected = rowKernels.select(least);
    this.#reserve(selected.length);
    const { values, weights } = rowKernels;
    for (let index = 0; index < selected.length; index += 1) {
      const id = selected[index] as number;
      this.#ids[index] = id;
      this.#values[index] = values[id] as number;
      this.#weights[index] = weights[id] as number;
    }
    this.#isCompact = true;
    this.#resize(selected.length);
  }

  #keep(cut: Cut): void {
    const [values, size] = [this.#values, this.#size];
    let kept = 0;
    let ties = 0;
    for (let index = 0; index < size; index += 1) {
      const value = values[index] as number;
      if (value < cut.value) continue;
      if (value === cut.value) {
        if (ties >= cut.ties) continue;
        ties += 1;
      }
      this.#move(index, kept);
      kept += 1;
    }
    this.#resize(kept);
  }

  #move(from: number, to: number): void {
    this.#ids[to] = this.#ids[from] as number;
    this.#values[to] = this.#values[from] as number;
    this.#weights[to] = this.#weights[from] as number;
  }

  #resize(size: number): void {
    const weights = this.#weights;
    let total = 0;
    for (let index = 0; index < size; index += 1) total += weights[index] as number;
    this.#size = size;
    this.#total = total;
  }

  #reserve(size: number): void {
    if (this.#ids.length >= size) return;
    this.#ids = new Uint32Array(size);
    this.#values = new Float32Array(size);
    this.#weights = new Float64Array(size);
  }
}
