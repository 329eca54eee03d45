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
/** Weights from which on tokens are tried as the whole nucleus, and how many of them are few. */
const nearlyLikeliest = [2 ** -5, 2 ** -8, 2 ** -11];
const fewTokensMax = 256;

/** Tokens among which a share is reached, and the weight of all likelier ones. */
interface Reached {
  readonly members: readonly number[];
  readonly before: number;
}

/** Equals by lower id. */
function likeliestFirst(ids: Uint32Array): number[] {
  const { values } = rowKernels;
  const members = Array.from(ids);
  return members.sort((left, right) => (values[right] as number) - (values[left] as number));
}

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
    for (const least of nearlyLikeliest) {
      const members = rowKernels.select(least);
      if (members.length > fewTokensMax) break;
      if (members.length < count) continue;
      this.#take(Uint32Array.from(likeliestFirst(members).slice(0, count)).sort());
      return;
    }
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
    const reached = this.#reachOfFew(limit) ?? this.#reachOfAll(limit);
    if (reached === undefined) return;
    const { values, weights } = rowKernels;
    let total = reached.before;
    let cut = nothingCut;
    for (const id of reached.members) {
      const value = values[id] as number;
      cut = { value, ties: value === cut.value ? cut.ties + 1 : 1 };
      total += weights[id] as number;
      if (total >= limit) break;
    }
    this.#cut = cut;
    this.#total = total;
  }

  /** The share among the few tokens that are nearly as likely as the likeliest; in most texts it is. */
  #reachOfFew(limit: number): Reached | undefined {
    for (const least of nearlyLikeliest) {
      const members = rowKernels.select(least);
      if (members.length > fewTokensMax) return undefined;
      let total = 0;
      for (const id of members) total += rowKernels.weights[id] as number;
      if (total >= limit) return { members: likeliestFirst(members), before: 0 };
    }
    return undefined;
  }

  #reachOfAll(limit: number): Reached | undefined {
    const reach = rowKernels.reach(limit);
    if (reach === undefined) return undefined;
    const members = likeliestFirst(rowKernels.select(reach.lower, reach.upper));
    return { members, before: reach.before };
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
    this.#take(rowKernels.select(least));
    if (this.#cut !== nothingCut) this.#keep(this.#cut);
  }

  /** Makes these tokens of the row, in the order of ids, all that the pool holds. */
  #take(selected: Uint32Array): void {
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
