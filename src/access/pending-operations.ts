/** Counts what waits for the database, refuses what is too much, and remembers how writing went. */
import {
  type OperationMode,
  type OperationName,
  type OutputOf,
  pendingOperationsMax,
  StoreError,
  type StoreState,
} from "./store.ts";

export interface PendingOptions {
  /** Settlements are never refused: each has its reservation, which was counted. */
  readonly always: boolean;
  readonly mode: OperationMode;
  /** Whether an operation that went through has written: a refusal has not. */
  readonly hasWritten: (output: unknown) => boolean;
}

/** How an operation of that name is tracked. */
export function trackingOf(name: OperationName, mode: OperationMode): PendingOptions {
  return { mode, always: name === "settle", hasWritten: (output) => hasWritten(name, output) };
}

/** Names whose outputs tell that something was written. */
function hasWritten(name: OperationName, output: unknown): boolean {
  if (name === "admit") return (output as OutputOf<"admit">).kind === "admitted";
  return name === "settle" || name === "probeWrite";
}

export class PendingOperations {
  /** When each pending write began, oldest first. */
  readonly #writes = new Map<symbol, number>();
  readonly #onIdle: (() => void)[] = [];
  #pending = 0;
  #writable = true;

  async track<Output>(options: PendingOptions, run: () => Promise<Output>): Promise<Output> {
    if (this.#pending >= pendingOperationsMax && !options.always) {
      throw new StoreError("busy", `More than ${pendingOperationsMax} operations wait.`);
    }
    this.#pending += 1;
    const mark = Symbol();
    const isWrite = options.mode === "write";
    if (isWrite) this.#writes.set(mark, performance.now());
    try {
      const output = await run();
      if (options.hasWritten(output)) this.#writable = true;
      return output;
    } catch (error) {
      const gone = error instanceof StoreError && error.problem === "unavailable";
      // What cannot even be read takes no writes either; only a write shows that it does again.
      if (gone) this.#writable = false;
      throw error;
    } finally {
      this.#writes.delete(mark);
      this.#pending -= 1;
      if (this.#pending === 0) for (const resolve of this.#onIdle.splice(0)) resolve();
    }
  }

  /** Resolves when nothing is pending. */
  async idle(): Promise<void> {
    while (this.#pending > 0) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#onIdle.push(resolve);
      await promise;
    }
  }

  state(): StoreState {
    const [oldest] = this.#writes.values();
    return {
      pendingWrites: this.#writes.size,
      lagMs: oldest === undefined ? 0 : performance.now() - oldest,
      writable: this.#writable,
    };
  }
}
