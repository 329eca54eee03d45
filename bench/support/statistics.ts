/** Medians and spread of a few measurements. */

export function median(values: readonly number[]): number {
  return percentile(values, 50);
}

export function percentile(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((left, right) => left - right);
  const rank = Math.min(sorted.length - 1, Math.floor((percent / 100) * sorted.length));
  return sorted[Math.max(0, rank)] ?? Number.NaN;
}

/** `141 (133-150)`: median and range. */
export function spread(values: readonly number[], digits = 0): string {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const print = (value: number) => value.toFixed(digits);
  return `${print(median(values))} (${print(low)}-${print(high)})`;
}
