/**
 * The tokens that a draw chooses from, with their weights. At first they are all tokens of the loaded
 * row, then those above a cut in it; only where truncations come together they are moved into
 * memory of the pool's own, which is kept from draw to draw.
 */
import { type Cut, findCut } from "./cut.ts";
import { rowKernels, weightMin } from "./kernels/row-kernels.ts";
import type { RowSum } from "./score.ts";

/** Rounding of sums must not add a token to a nucleus that is reached exactly. */
const massTolerance = 1e-12;
const nothingCut: Cut = { value: Number.NEGATIVE_INFINITY, ties: 0 };

export class TokenPool {
  /** False while the pool is a part of the row, above `#cut`. */
  #isCompact = false;
  #cut = nothingCut;
  #ids = new Uint32Array(0);
  #values = new Float32Array(0);
  /** Weight of the likeliest token is 1; the sum is not normalised. */
  #weights = new Float64Array(0);
  #size = 0;
  /** The largest logit. */
  #max = 0;
  /** The sum of the weights. */
  #total = 0;

  /**
   * Begins with all tokens of the row that the kernels hold, weighed at a temperature; false when
   * its largest logit is not finite.
   */
  start(temperature: number): boolean {
    const max = rowKernels.maximum();
    if (!Number.isFinite(max)) return false;
    this.#max = max;
    this.#isCompact = false;
    this.#cut = nothingCut;
    this.#size = rowKernels.values.length;
    this.#total = rowKernels.weigh(max, 1 / temperature);
    return true;
  }

  /** Of the whole row, right after `start`. */
  get rowSum(): RowSum {
    return { max: this.#max, sum: this.#total };
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
    if (this.#isCompact) {
      this.#keep(findCut(this.#values, this.#weights, this.#size, limit));
      return;
    }
    const reach = rowKernels.reach(limit);
    if (reach === undefined) return;
    // Among these the share is reached: largest first, equals by lower id.
    const { values, weights } = rowKernels;
    const members = Array.from(rowKernels.select(reach.lower, reach.upper));
    members.sort((left, right) => (values[right] as number) - (values[left] as number));
    let total = reach.before;
    let cut = nothingCut;
    for (const id of members) {
      const value = values[id] as number;
      cut = { value, ties: value === cut.value ? cut.ties + 1 : 1 };
      total += weights[id] as number;
      if (total >= limit) break;
    }
    this.#cut = cut;
    this.#total = total;
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
    const target = share * this.#total;
    if (!this.#isCompact) return rowKernels.draw(target, this.#cut.value, this.#cut.ties);
    const last = this.#size - 1;
    let sum = 0;
    let index = 0;
    for (; index < last; index += 1) {
      sum += this.#weights[index] as number;
      if (sum > target) break;
    }
    return this.#ids[index] as number;
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
    if (this.#cut !== nothingCut) this.#keep(this.#cut);
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
