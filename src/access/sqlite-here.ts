/**
 * A SQLite file in the calling thread: for commands, which have nothing else to do meanwhile. While
 * it waits for another one that writes, the thread stands still; so one thread has at most one of
 * these on a file that it writes to.
 */
import { messageOf, problemOf } from "./sqlite-errors.ts";
import type { WorkerSettings } from "./sqlite-messages.ts";
import { SqliteRunner } from "./sqlite-runner.ts";
import { type OperationName, StoreError } from "./store.ts";

/** Somebody who has the file and can be asked. */
export interface SqliteHolder {
  /** Rejects with a StoreError. */
  ask(name: OperationName, input: unknown, nowMs: number | undefined): Promise<unknown>;
  close(): Promise<void>;
  /** Resolves when it holds the file no more. */
  readonly ended: Promise<void>;
}

export async function holdHere(settings: WorkerSettings): Promise<SqliteHolder> {
  const runner = await SqliteRunner.open(settings);
  const ended = Promise.withResolvers<void>();
  return {
    ask: async (name, input, nowMs) => {
      try {
        return await runner.run(name, input, nowMs);
      } catch (error) {
        throw new StoreError(problemOf(error), messageOf(error), { cause: error });
      }
    },
    close: async () => {
      await runner.close();
      ended.resolve();
    },
    ended: ended.promise,
  };
}
