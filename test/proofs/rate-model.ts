/** A limit per minute as it is promised, computed over windows of time and not by a bucket. */

export interface Use {
  readonly atMs: number;
  readonly amount: number;
}

/**
 * By how much use goes beyond a limit: in any window of t milliseconds there may be at most
 * limit + limit * t / 60,000. Negative where there was room in every window. `uses` by time.
 */
export function rateExcess(uses: readonly Use[], limit: number): number {
  // sum(first..last) - limit * (t_last - t_first) / 60,000, for the worst first of every last.
  const startMs = uses[0]?.atMs ?? 0;
  let before = 0;
  let lowest = Number.POSITIVE_INFINITY;
  let worst = Number.NEGATIVE_INFINITY;
  for (const { atMs, amount } of uses) {
    const leaked = (limit * (atMs - startMs)) / 60_000;
    lowest = Math.min(lowest, before - leaked);
    before += amount;
    worst = Math.max(worst, before - leaked - lowest);
  }
  // The last digits are rounding.
  return Math.round((worst - limit) * 1000) / 1000;
}

/** The most that may be used in the time between two moments, when the limit was fresh before. */
export function rateMost(limit: number, ms: number): number {
  return Math.floor(limit + (limit * ms) / 60_000);
}

export interface Interval {
  readonly fromMs: number;
  readonly untilMs: number;
}

/** The most intervals that hold at one moment. One that ends where another begins is over. */
export function overlapMost(intervals: readonly Interval[]): number {
  const edges = intervals.flatMap(({ fromMs, untilMs }) =>
    untilMs <= fromMs
      ? []
      : [
          { atMs: fromMs, step: 1 },
          { atMs: untilMs, step: -1 },
        ],
  );
  let now = 0;
  let most = 0;
  for (const { step } of edges.toSorted((a, b) => a.atMs - b.atMs || a.step - b.step)) {
    now += step;
    most = Math.max(most, now);
  }
  return most;
}
