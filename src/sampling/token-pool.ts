/**
 * The tokens that a draw chooses from: ids in rising order with their logits, made fewer by
 * truncation. One pool is filled anew for each draw and keeps its memory.
 */
import { type Cut, findCut } from "./cut.ts";
import { exponential, exponentMin } from "./exponential.ts";

/** Rounding of sums must not add a token to a nucleus that is reached exactly. */
const massTolerance = 1e-12;

export class TokenPool {
  #ids = new Uint32Array(0);
  #values = new Float32Array(0);
  /** Weight of the likeliest token is 1; the sum is not normalised. */
  #weights = new Float64Array(0);
  #size = 0;
  /** The largest logit; truncation never drops it. */
  #max = 0;
  /** The sum of the weights. */
  #total = 0;

  /** The logits by token id, to be adjusted before anything is dropped. */
  fill(logits: Float32Array): Float32Array {
    this.#size = logits.length;
    if (this.#ids.length < this.#size) {
      this.#ids = new Uint32Array(this.#size);
      this.#values = new Float32Array(this.#size);
      this.#weights = new Float64Array(this.#size);
    }
    const values = this.#values.subarray(0, this.#size);
    values.set(logits);
    return values;
  }

  /** Numbers the tokens and drops those that cannot be drawn; false when none or too much is left. */
  dropImpossible(): boolean {
    let kept = 0;
    let max = Number.NEGATIVE_INFINITY;
    for (let index = 0; index < this.#size; index += 1) {
      const value = this.#values[index] as number;
      if (!(value > Number.NEGATIVE_INFINITY)) continue;
      if (value > max) max = value;
      this.#ids[kept] = index;
      this.#values[kept] = value;
      kept += 1;
    }
    this.#size = kept;
    this.#max = max;
    return Number.isFinite(max);
  }

  /** Keeps the `count` likeliest. */
  keepTop(count: number): void {
    if (count < this.#size) this.#keep(findCut(this.#values, undefined, this.#size, count));
  }

  /** Weighs the tokens at a temperature and drops those that could never be drawn. */
  weigh(temperature: number): void {
    const perTemperature = 1 / temperature;
    let kept = 0;
    let total = 0;
    for (let index = 0; index < this.#size; index += 1) {
      const exponent = ((this.#values[index] as number) - this.#max) * perTemperature;
      if (exponent <= exponentMin) continue;
      const weight = exponential(exponent);
      total += weight;
      this.#ids[kept] = this.#ids[index] as number;
      this.#values[kept] = this.#values[index] as number;
      this.#weights[kept] = weight;
      kept += 1;
    }
    this.#size = kept;
    this.#total = total;
  }

  /** Keeps the fewest likeliest tokens that have this share of the weight together. */
  keepShare(share: number): void {
    const limit = share * this.#total * (1 - massTolerance);
    this.#keep(findCut(this.#values, this.#weights, this.#size, limit));
  }

  /** Keeps tokens that weigh at least this much, where the likeliest weighs 1. */
  keepWeight(weightMin: number): void {
    let kept = 0;
    for (let index = 0; index < this.#size; index += 1) {
      if ((this.#weights[index] as number) < weightMin) continue;
      this.#move(index, kept);
      kept += 1;
    }
    this.#resize(kept);
  }

  /** The token at this share (in [0, 1)) of the weight, in the order of ids. */
  draw(share: number): number {
    const target = share * this.#total;
    let sum = 0;
    for (let index = 0; index < this.#size; index += 1) {
      sum += this.#weights[index] as number;
      if (sum > target) return this.#ids[index] as number;
    }
    return this.#ids[this.#size - 1] as number;
  }

  #keep(cut: Cut): void {
    let kept = 0;
    let ties = 0;
    for (let index = 0; index < this.#size; index += 1) {
      const value = this.#values[index] as number;
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
    this.#size = size;
    this.#total = 0;
    for (let index = 0; index < size; index += 1) this.#total += this.#weights[index] as number;
  }
}
