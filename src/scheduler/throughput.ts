/** How fast rows are computed, for an honest word about when to try again. */
import type { Job } from "../engine/engine.ts";

const windowMs = 10_000;
const retryMsMin = 500;
const retryMsMax = 60_000;
/** Until something was measured. */
const rowsPerSecondAtStart = 50;

export class Throughput {
  readonly #nowMs: () => number;
  #startMs: number;
  #rows = 0;
  #rowsPerSecond = rowsPerSecondAtStart;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
    this.#startMs = nowMs();
  }

  record(rows: number): void {
    const elapsedMs = this.#nowMs() - this.#startMs;
    if (elapsedMs >= windowMs) {
      // A window in which little was asked for says nothing about what can be done.
      this.#rowsPerSecond = Math.max((this.#rows / elapsedMs) * 1000, this.#rowsPerSecond / 2);
      this.#startMs = this.#nowMs();
      this.#rows = 0;
    }
    this.#rows += rows;
  }

  /** Until one of these jobs, an average one, has been computed and left its place. */
  retryAfterMs(jobs: readonly Job[]): number {
    if (jobs.length === 0) return retryMsMin;
    let rows = 0;
    for (const job of jobs) rows += job.prompt.length + job.candidates * job.maxTokens;
    const waitMs = (rows / jobs.length / Math.max(1, this.#rowsPerSecond)) * 1000;
    return Math.round(Math.min(retryMsMax, Math.max(retryMsMin, waitMs)));
  }
}
