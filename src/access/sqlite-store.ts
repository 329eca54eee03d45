/**
 * The store on a SQLite file. One thread writes and answers short reads; a second one, started when
 * first needed, makes reports, so that summing up a year keeps no request waiting.
 */

import { operations } from "./operations/operations.ts";
import { PendingOperations } from "./pending-operations.ts";
import { SqliteThread } from "./sqlite-thread.ts";
import {
  type InputOf,
  type OperationName,
  type OutputOf,
  type Store,
  StoreError,
  type StoreState,
} from "./store.ts";

export interface SqliteStoreOptions {
  readonly file: string;
  readonly busyTimeoutMs: number;
  /** For tests; by default each operation asks the clock when it runs. */
  readonly nowMs?: (() => number) | undefined;
}

type Role = "main" | "reports";

export class SqliteStore implements Store {
  readonly #options: SqliteStoreOptions;
  readonly #pending = new PendingOperations();
  readonly #threads = new Map<Role, Promise<SqliteThread>>();
  #closed = false;

  private constructor(options: SqliteStoreOptions) {
    this.#options = options;
  }

  /** Opens or makes the file and brings its tables up to date. */
  static async open(options: SqliteStoreOptions): Promise<SqliteStore> {
    const store = new SqliteStore(options);
    await store.#thread("main");
    return store;
  }

  async run<Name extends OperationName>(name: Name, input: InputOf<Name>): Promise<OutputOf<Name>> {
    const { mode } = operations[name];
    const output = await this.#pending.track({ mode, always: name === "settle" }, async () => {
      const thread = await this.#thread(mode === "report" ? "reports" : "main");
      return thread.ask(name, input, this.#options.nowMs?.());
    });
    return output as OutputOf<Name>;
  }

  state(): StoreState {
    return this.#pending.state();
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const thread of [...this.#threads.values()]) {
      await thread.then((started) => started.close()).catch(() => undefined);
    }
  }

  /** The thread of the role; one that ended or could not start is replaced by the next call. */
  #thread(role: Role): Promise<SqliteThread> {
    const current = this.#threads.get(role);
    if (current !== undefined) return current;
    if (this.#closed) return Promise.reject(new StoreError("unavailable", "The store is closed."));
    const { file, busyTimeoutMs } = this.#options;
    const started = SqliteThread.start({ file, busyTimeoutMs, readOnly: role === "reports" });
    this.#threads.set(role, started);
    const forget = () => this.#threads.delete(role);
    started.then((thread) => thread.ended).then(forget, forget);
    return started;
  }
}
