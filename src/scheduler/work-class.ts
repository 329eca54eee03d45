/** Calls that should take alike, and what they took with each number of threads. */

/** One call of the backend. */
export interface Work {
  readonly rows: number;
  /** Different sequences among the rows. */
  readonly sequences: number;
  /** Rows that ask for logits. */
  readonly outputs: number;
  /** Mean position of the rows: attention takes the longer the more lies before a row. */
  readonly position: number;
}

/** Times that are remembered for each number of threads. */
const timesKept = 7;
/** As many have to be known before they count. */
const timesNeeded = 3;
/** Calls with another number of threads, to compare. */
const attemptCalls = 3;
/** As many calls come first, so that attempts cost little even where the calls are long. */
const callsBeforeAttempt = 32;
const attemptAfterMsMin = 5_000;
const attemptAfterMsMax = 300_000;
/** Another number of threads has to be faster by that share. */
const betterShare = 0.03;
/** Positions below which attention costs about the same. */
const firstBand = 512;

/** Times that are older than the newest by so much no longer say what is usual. */
const freshMs = 20_000;

interface Times {
  /** The newest last; milliseconds, for prompt rows of one row. */
  readonly recent: number[];
  /** Undefined: too few are known. */
  medianMs: number | undefined;
  measuredAtMs: number;
}

export class WorkClass {
  /** Of the latest call: those of a class differ by less than a factor of two. */
  rows: number;
  readonly #isPerRow: boolean;
  readonly #times = new Map<number, Times>();
  #best: number | undefined;
  #attempt: { threads: number; callsLeft: number } | undefined;
  #attemptAtMs = Number.NEGATIVE_INFINITY;
  /** Calls since the last attempt. */
  #calls = 0;
  #attemptAfterMs = attemptAfterMsMin;

  constructor(work: Work) {
    this.rows = work.rows;
    this.#isPerRow = isPrompt(work);
  }

  static key(work: Work): string {
    const { rows, sequences, outputs, position } = work;
    const band = Math.floor(Math.log2(1 + position / firstBand));
    const share = outputs === rows ? "all" : "few";
    const size = isPrompt(work) ? `~${Math.floor(Math.log2(rows))}` : String(rows);
    return `${size} ${sequences} ${share} ${band}`;
  }

  /** The fewest milliseconds that a call takes with at most so many threads; undefined: unknown. */
  usualMs(threadsMax: number): number | undefined {
    let least: number | undefined;
    const newest = this.#newestMs();
    for (const [threads, { medianMs, measuredAtMs }] of this.#times) {
      if (threads > threadsMax || medianMs === undefined) continue;
      if (measuredAtMs >= newest - freshMs) least = Math.min(least ?? medianMs, medianMs);
    }
    return least === undefined ? undefined : least * (this.#isPerRow ? this.rows : 1);
  }

  /** The best number of threads known, up to `ceiling`; now and then another, to compare. */
  choose(ceiling: number, nowMs: number, mayAttempt: boolean): number {
    if (this.#attempt !== undefined && this.#attempt.threads <= ceiling) {
      return this.#attempt.threads;
    }
    this.#attempt = undefined;
    if (this.#medianOf(ceiling) === undefined) return ceiling;
    const best = this.#bestOf(ceiling);
    const isDue = nowMs >= this.#attemptAtMs && this.#calls >= callsBeforeAttempt;
    if (ceiling === 1 || !mayAttempt || !isDue) return best;
    const other = this.#leastKnown([best - 1, best + 1, Math.floor(best / 2)], ceiling);
    if (other === undefined) return best;
    this.#attempt = { threads: other, callsLeft: attemptCalls };
    return other;
  }

  record(threads: number, elapsedMs: number, nowMs: number): void {
    const times = this.#times.get(threads) ?? newTimes();
    this.#times.set(threads, times);
    if (times.measuredAtMs < this.#newestMs() - freshMs) times.recent.length = 0;
    times.recent.push(this.#isPerRow ? elapsedMs / this.rows : elapsedMs);
    times.measuredAtMs = nowMs;
    if (times.recent.length > timesKept) times.recent.shift();
    this.#calls += 1;
    const attempt = this.#attempt?.threads === threads ? this.#attempt : undefined;
    if (attempt !== undefined) attempt.callsLeft -= 1;
    const isOver = attempt?.callsLeft === 0;
    // What is older than the attempt would only hide what it found.
    if (isOver) times.recent.splice(0, times.recent.length - attemptCalls);
    times.medianMs = medianOf(times.recent);
    if (isOver) this.endAttempt(nowMs);
  }

  /** The longer nothing better was found, the longer until the next attempt. */
  endAttempt(nowMs: number): void {
    if (this.#attempt === undefined) return;
    const highest = Math.max(...this.#times.keys());
    const before = this.#best;
    const changed = this.#bestOf(highest) !== before;
    const after = changed ? attemptAfterMsMin : 2 * this.#attemptAfterMs;
    this.#attemptAfterMs = Math.min(attemptAfterMsMax, after);
    this.#attemptAtMs = nowMs + this.#attemptAfterMs;
    this.#attempt = undefined;
    this.#calls = 0;
  }

  /** Fewer threads than `ceiling` that are faster by `factor`, found with `threads` just now. */
  muchFasterBelow(threads: number, ceiling: number, factor: number): number | undefined {
    const own = this.#medianOf(threads);
    const high = this.#medianOf(ceiling);
    if (threads >= ceiling || own === undefined || high === undefined) return undefined;
    return high > factor * own ? threads : undefined;
  }

  forgetAbove(threads: number): void {
    for (const known of this.#times.keys()) if (known > threads) this.#times.delete(known);
    if ((this.#best ?? 0) > threads) this.#best = undefined;
  }

  #bestOf(ceiling: number): number {
    const start = this.#best !== undefined && this.#best <= ceiling ? this.#best : ceiling;
    let best = start;
    for (const threads of this.#times.keys()) {
      if (threads > ceiling) continue;
      const ms = this.#medianOf(threads) ?? Number.POSITIVE_INFINITY;
      const bestMs = this.#medianOf(best) ?? Number.POSITIVE_INFINITY;
      if (ms < bestMs * (best === start ? 1 - betterShare : 1)) best = threads;
    }
    this.#best = best;
    return best;
  }

  #newestMs(): number {
    let newest = Number.NEGATIVE_INFINITY;
    for (const { measuredAtMs } of this.#times.values()) newest = Math.max(newest, measuredAtMs);
    return newest;
  }

  #leastKnown(candidates: readonly number[], ceiling: number): number | undefined {
    const measuredAtMs = (threads: number) =>
      this.#times.get(threads)?.measuredAtMs ?? Number.NEGATIVE_INFINITY;
    return candidates
      .filter((threads) => threads >= 1 && threads <= ceiling)
      .toSorted((left, right) => measuredAtMs(left) - measuredAtMs(right))[0];
  }

  #medianOf(threads: number): number | undefined {
    return this.#times.get(threads)?.medianMs;
  }
}

function newTimes(): Times {
  return { recent: [], medianMs: undefined, measuredAtMs: Number.NEGATIVE_INFINITY };
}

function medianOf(times: readonly number[]): number | undefined {
  if (times.length < timesNeeded) return undefined;
  return times.toSorted((left, right) => left - right)[times.length >> 1];
}

/** Several rows of one sequence; generating takes one, or two where rows are paired. */
function isPrompt({ rows, sequences }: Work): boolean {
  return rows > 2 * sequences;
}
