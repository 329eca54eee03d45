/**
 * A machine for the tests of the thread governor: calls take their time on a clock of its own,
 * shorter with each further thread and a hundred times as long when threads outnumber free cores.
 */
import type { ThreadGovernor } from "../thread-governor.ts";
import type { Work } from "../work-class.ts";

export interface SimulatedCoresOptions {
  readonly cores: number;
  /** Speed with so many threads, of one. Default: each adds a tenth. */
  readonly speedUp?: (threads: number, work: Work) => number;
  /** Share by which times vary at random, to both sides. Default 0.05. */
  readonly jitter?: number;
  /** Whether the governor is told how many cores are free. Default true. */
  readonly tellsFreeCores?: boolean;
}

const rowMs = 8;
const waitFactor = 100;

export class SimulatedCores {
  nowMs = 0;
  /** Cores that others keep busy; a fraction disturbs as surely as a whole one. */
  busy = 0;
  readonly #options: SimulatedCoresOptions;
  #state = 1;

  constructor(options: SimulatedCoresOptions) {
    this.#options = options;
  }

  /** Work for so long; gives the calls done in a second. */
  run(governor: ThreadGovernor, work: Work, durationMs: number): number {
    const startMs = this.nowMs;
    let calls = 0;
    while (this.nowMs - startMs < durationMs) {
      const { cores, tellsFreeCores = true } = this.#options;
      const free = tellsFreeCores ? cores - this.busy : undefined;
      const threads = governor.choose(work, this.nowMs, free);
      const elapsedMs = this.#callMs(work, threads);
      this.nowMs += elapsedMs;
      governor.record(work, threads, elapsedMs, this.nowMs);
      calls += 1;
    }
    return (calls / (this.nowMs - startMs)) * 1000;
  }

  /** Calls in a second with the best number of threads that is the same all the time. */
  best(work: Work): number {
    const counts = Array.from({ length: this.#options.cores }, (_, index) => index + 1);
    return 1000 / Math.min(...counts.map((threads) => this.#meanMs(work, threads)));
  }

  #callMs(work: Work, threads: number): number {
    const { jitter = 0.05 } = this.#options;
    return this.#meanMs(work, threads) * (1 + jitter * (2 * this.#random() - 1));
  }

  #meanMs(work: Work, threads: number): number {
    const { cores, speedUp = (count: number) => 1 + 0.1 * (count - 1) } = this.#options;
    const crowded = threads > 1 && threads > cores - this.busy;
    const ms = (rowMs * (1 + (work.rows - 1) / 8)) / speedUp(threads, work);
    return crowded ? ms * waitFactor : ms;
  }

  #random(): number {
    this.#state = (this.#state * 48_271) % 2_147_483_647;
    return this.#state / 2_147_483_647;
  }
}
