/** Medians, percentiles and the range of a few measurements. */

/** The middle value; between the two middle ones where their number is even. NaN of none. */
export function median(values: readonly number[]): number {
  const sorted = ascending(values);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  if (sorted.length % 2 === 1) return upper;
  return ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

/** The least value that at least `percent` of all do not exceed (nearest rank). NaN of none. */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = ascending(values);
  const rank = Math.max(1, Math.ceil((percent / 100) * sorted.length));
  return sorted[rank - 1] ?? Number.NaN;
}

export interface Range {
  readonly low: number;
  readonly high: number;
}

export function rangeOf(values: readonly number[]): Range {
  return { low: Math.min(...values), high: Math.max(...values) };
}

function ascending(values: readonly number[]): number[] {
  return values.toSorted((left, right) => left - right);
}
