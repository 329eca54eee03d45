/** Passes over a row of logits: the largest, and what makes logprobs of logits. NaN is no value. */
import { exponential, exponentMin } from "./exponential.ts";

/** The largest value, or -Infinity when there is none. */
export function maximum(values: Float32Array): number {
  let max = Number.NEGATIVE_INFINITY;
  for (let index = 0; index < values.length; index += 1) {
    const value = values[index] as number;
    if (value > max) max = value;
  }
  return max;
}

/** The index of the largest value, the lowest among equals; undefined when none is above -Infinity. */
export function argmax(values: Float32Array): number | undefined {
  let max = Number.NEGATIVE_INFINITY;
  let best = -1;
  for (let index = 0; index < values.length; index += 1) {
    const value = values[index] as number;
    if (value > max) {
      max = value;
      best = index;
    }
  }
  return best === -1 ? undefined : best;
}

/**
 * log(sum(exp(values - max))) in float64, where `max` is the largest value: what is subtracted from
 * `value - max` to make a logprob. Taking the two apart keeps digits that large logits would lose.
 */
export function logSumExp(values: Float32Array, max: number): number {
  let sum = 0;
  for (let index = 0; index < values.length; index += 1) {
    const difference = (values[index] as number) - max;
    if (difference > exponentMin) sum += exponential(difference);
  }
  return Math.log(sum);
}
