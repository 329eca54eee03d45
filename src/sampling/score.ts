/** Raw logprobs of a token and of the likeliest tokens at its position. */
import { rowKernels } from "./kernels/row-kernels.ts";

/** JSON has no infinity: what is not finite becomes this. */
export const logprobMin = -9999;

export interface TokenScore {
  /** Natural logarithm of the probability, a float32 value, never below `logprobMin`. */
  readonly logprob: number;
  /** Token and logprob, best first, equals by lower id. */
  readonly top: readonly (readonly [token: number, logprob: number])[];
}

/** The largest logit of a row, and the sum of e^(logit - max) over the row. */
export interface RowSum {
  readonly max: number;
  readonly sum: number;
}

/**
 * Scores one token of a row of raw logits. `top` has `topCount` entries (fewer when the vocabulary
 * is smaller); the same token has the identical number in both places. The sum over the vocabulary
 * is within 3e-7 of its float64 value, and so is what it adds to a logprob near zero. `known` is
 * what a draw from the same row has just found: the kernels then still hold that row.
 */
export function scoreToken(
  logits: Float32Array,
  token: number,
  topCount: number,
  known?: RowSum,
): TokenScore {
  if (known === undefined) rowKernels.load(logits);
  const max = known?.max ?? rowKernels.maximum();
  // The two parts of the normaliser are kept apart: large logits would cost the sum its digits.
  const normaliser = Math.log(known?.sum ?? rowKernels.sumOfExponentials(max));
  const logprobOf = (id: number): number => {
    const logprob = Math.fround((logits[id] ?? Number.NaN) - max - normaliser);
    return Number.isFinite(logprob) ? Math.max(logprob, logprobMin) : logprobMin;
  };
  const top = likeliest(logits, topCount).map((id) => [id, logprobOf(id)] as const);
  return { logprob: logprobOf(token), top };
}

/** The ids of the `count` largest logits, best first, equals by lower id; NaN counts as lowest. */
export function topTokens(logits: Float32Array, count: number): number[] {
  if (count <= 0) return [];
  rowKernels.load(logits);
  return likeliest(logits, count);
}

/** As `topTokens`, for the row that is loaded. */
function likeliest(logits: Float32Array, count: number): number[] {
  const size = Math.min(count, logits.length);
  if (size <= 0) return [];
  // One place more than wanted takes what is pushed out.
  const ids = new Uint32Array(size + 1);
  const values = new Float64Array(size + 1);
  for (let id = 0; id < size; id += 1) insert(ids, values, id, id, logits[id] as number);
  let worst = values[size - 1] as number;
  let id = rowKernels.firstAbove(worst, size);
  while (id < logits.length) {
    insert(ids, values, size, id, logits[id] as number);
    worst = values[size - 1] as number;
    id = rowKernels.firstAbove(worst, id + 1);
  }
  return Array.from(ids.subarray(0, size));
}

/** Puts a token into a list of `length` tokens, behind those that are at least as likely. */
function insert(
  ids: Uint32Array,
  values: Float64Array,
  length: number,
  id: number,
  value: number,
): void {
  const ranked = Number.isNaN(value) ? Number.NEGATIVE_INFINITY : value;
  let place = length;
  for (; place > 0 && (values[place - 1] as number) < ranked; place -= 1) {
    ids[place] = ids[place - 1] as number;
    values[place] = values[place - 1] as number;
  }
  ids[place] = id;
  values[place] = ranked;
}
