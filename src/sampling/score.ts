/** Raw logprobs of a token and of the likeliest tokens at its position. */
import { logSumExp, maximum } from "./log-sum-exp.ts";

/** JSON has no infinity: what is not finite becomes this. */
export const logprobMin = -9999;

export interface TokenScore {
  /** Natural logarithm of the probability, a float32 value, never below `logprobMin`. */
  readonly logprob: number;
  /** Token and logprob, best first, equals by lower id. */
  readonly top: readonly (readonly [token: number, logprob: number])[];
}

/**
 * Scores one token of a row of raw logits. `top` has `topCount` entries (fewer when the vocabulary
 * is smaller); the same token has the identical number in both places.
 */
export function scoreToken(logits: Float32Array, token: number, topCount: number): TokenScore {
  const max = maximum(logits);
  const normaliser = logSumExp(logits, max);
  const logprobOf = (id: number): number => {
    const logprob = Math.fround((logits[id] ?? Number.NaN) - max - normaliser);
    return Number.isFinite(logprob) ? Math.max(logprob, logprobMin) : logprobMin;
  };
  const top = topTokens(logits, topCount).map((id) => [id, logprobOf(id)] as const);
  return { logprob: logprobOf(token), top };
}

/** The ids of the `count` largest logits, best first, equals by lower id; NaN counts as lowest. */
export function topTokens(logits: Float32Array, count: number): number[] {
  const size = Math.min(count, logits.length);
  if (size <= 0) return [];
  const ids: number[] = [];
  const values: number[] = [];
  let worst = Number.NEGATIVE_INFINITY;
  for (let id = 0; id < logits.length; id += 1) {
    const value = logits[id] as number;
    if (ids.length === size && !(value > worst)) continue;
    const ranked = Number.isNaN(value) ? Number.NEGATIVE_INFINITY : value;
    if (ids.length === size) {
      ids.pop();
      values.pop();
    }
    let place = values.length;
    while (place > 0 && (values[place - 1] as number) < ranked) place -= 1;
    ids.splice(place, 0, id);
    values.splice(place, 0, ranked);
    worst = values.at(-1) as number;
  }
  return ids;
}
