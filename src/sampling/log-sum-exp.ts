/** The logarithm of the sum of exponentials: what makes logprobs of logits. */
import { exponential, exponentMin } from "./exponential.ts";

/** The largest of the first `size` values, or -Infinity; NaN counts as -Infinity. */
export function maximum(values: Float32Array, size: number = values.length): number {
  let max = Number.NEGATIVE_INFINITY;
  for (let index = 0; index < size; index += 1) {
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

/** log(sum(exp(values))) in float64; NaN counts as -Infinity. */
export function logSumExp(values: Float32Array): number {
  const max = maximum(values);
  if (!Number.isFinite(max)) return max;
  let sum = 0;
  for (let index = 0; index < values.length; index += 1) {
    const difference = (values[index] as number) - max;
    if (difference > exponentMin) sum += exponential(difference);
  }
  return max + Math.log(sum);
}
