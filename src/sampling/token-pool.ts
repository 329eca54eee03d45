/**
 * The tokens that a draw chooses from: ids in rising order with their logits, made fewer by
 * truncation. One pool is filled anew for each draw and keeps its memory.
 */
import { type Cut, findCut } from "./cut.ts";
import { exponential, exponentMin } from "./exponential.ts";
import { maximum } from "./log-sum-exp.ts";

/** Rounding of sums must not add a token to a nucleus that is reached exactly. */
const massTolerance = 1e-12;

export class TokenPool {
  /** Where the logits stand that were not moved yet: the given row, later `#values`. */
  #source: Float32Array = new Float32Array(0);
  /** False while the place of a logit is its token id. */
  #isNumbered = false;
  #ids = new Uint32Array(0);
  #values = new Float32Array(0);
  /** Weight of the likeliest token is 1; the sum is not normalised. */
  #weights = new Float64Array(0);
  #size = 0;
  /** The largest logit; truncation never drops it. */
  #max = 0;
  /** The sum of the weights. */
  #total = 0;

  /** A copy of the row in the pool's own memory, to be adjusted and handed to `start`. */
  copy(logits: Float32Array): Float32Array {
    this.#reserve(logits.length);
    const copy = this.#values.subarray(0, logits.length);
    copy.set(logits);
    return copy;
  }

  /** Begins with all tokens of a row; false when its largest logit is not finite. */
  start(logits: Float32Array): boolean {
    this.#reserve(logits.length);
    this.#source = logits;
    this.#isNumbered = false;
    this.#size = logits.length;
    this.#max = maximum(logits);
    return Number.isFinite(this.#max);
  }

  /** Keeps the `count` likeliest. Comes before `weigh`. */
  keepTop(count: number): void {
    if (count >= this.#size) return;
    this.#dropImpossible();
    if (count < this.#size) this.#keep(findCut(this.#values, undefined, this.#size, count));
  }

  /** Weighs the tokens at a temperature and drops those that could never be drawn. */
  weigh(temperature: number): void {
    const source = this.#source;
    const isNumbered = this.#isNumbered;
    const [ids, values, weights] = [this.#ids, this.#values, this.#weights];
    const [size, max, perTemperature] = [this.#size, this.#max, 1 / temperature];
    let kept = 0;
    let total = 0;
    for (let index = 0; index < size; index += 1) {
      const value = source[index] as number;
      const exponent = (value - max) * perTemperature;
      if (!(exponent > exponentMin)) continue;
      const weight = exponential(exponent);
      total += weight;
      ids[kept] = isNumbered ? (ids[index] as number) : index;
      values[kept] = value;
      weights[kept] = weight;
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
    const weights = this.#weights;
    const size = this.#size;
    let kept = 0;
    for (let index = 0; index < size; index += 1) {
      if ((weights[index] as number) < weightMin) continue;
      this.#move(index, kept);
      kept += 1;
    }
    this.#resize(kept);
  }

  /** The token at this share (in [0, 1)) of the weight, in the order of ids. */
  draw(share: number): number {
    const weights = this.#weights;
    const target = share * this.#total;
    const last = this.#size - 1;
    let sum = 0;
    let index = 0;
    for (; index < last; index += 1) {
      sum += weights[index] as number;
      if (sum > target) break;
    }
    return this.#ids[index] as number;
  }

  /** Moves logits that are numbers above -Infinity into the pool's own memory. */
  #dropImpossible(): void {
    const [source, ids, values, size] = [this.#source, this.#ids, this.#values, this.#size];
    let kept = 0;
    for (let index = 0; index < size; index += 1) {
      const value = source[index] as number;
      if (!(value > Number.NEGATIVE_INFINITY)) continue;
      ids[kept] = index;
      values[kept] = value;
      kept += 1;
    }
    this.#size = kept;
    this.#source = values;
    this.#isNumbered = true;
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
