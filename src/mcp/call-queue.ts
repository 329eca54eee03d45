/** One call at a time, in the order in which they came; those that wait are counted and limited. */
import { ApiError } from "../contract/errors.ts";

export interface CallQueueOptions {
  /** Calls that may wait behind the one that runs; a further one is refused. */
  readonly waitingMax: number;
}

interface Waiting {
  readonly start: () => void;
}

export class CallQueue {
  readonly #waitingMax: number;
  readonly #waiting = new Set<Waiting>();
  #busy = false;

  constructor(options: CallQueueOptions) {
    this.#waitingMax = options.waitingMax;
  }

  /**
   * Runs the work when its turn comes. Rejects with an ApiError when too many wait already, and
   * with the signal's reason when that comes before the turn.
   */
  async run<Result>(signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
    signal.throwIfAborted();
    if (this.#busy) await this.#turn(signal);
    this.#busy = true;
    try {
      return await work();
    } finally {
      this.#next();
    }
  }

  #turn(signal: AbortSignal): Promise<void> {
    if (this.#waiting.size >= this.#waitingMax) throw new ApiError("overloaded");
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.#waiting.delete(waiting);
        reject(signal.reason);
      };
      const waiting: Waiting = {
        start: () => {
          signal.removeEventListener("abort", leave);
          resolve();
        },
      };
      signal.addEventListener("abort", leave, { once: true });
      this.#waiting.add(waiting);
    });
  }

  /** Stays busy when it hands the turn on, so that nobody new slips in between. */
  #next(): void {
    const [first] = this.#waiting;
    if (first === undefined) {
      this.#busy = false;
      return;
    }
    this.#waiting.delete(first);
    first.start();
  }
}
