/**
 * The store on a SQLite file. One thread writes and answers short reads; a second one, started when
 * first needed, makes reports, so that summing up a year keeps no request waiting.
 */

import { operations } from "./operations/operations.ts";
import { PendingOperations, trackingOf } from "./pending-operations.ts";
import { holdHere, type SqliteHolder } from "./sqlite-here.ts";
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
  /** Whether it has threads of its own, or works in the calling one. */
  readonly threads: boolean;
}

type Role = "main" | "reports";

export class SqliteStore implements Store {
  readonly #options: SqliteStoreOptions;
  readonly #pending = new PendingOperations();
  readonly #holders = new Map<Role, Promise<SqliteHolder>>();
  #closed = false;

  private constructor(options: SqliteStoreOptions) {
    this.#options = options;
  }

  /** Opens or makes the file and brings its tables up to date. */
  static async open(options: SqliteStoreOptions): Promise<SqliteStore> {
    const store = new SqliteStore(options);
    await store.#holder("main");
    return store;
  }

  async run<Name extends OperationName>(name: Name, input: InputOf<Name>): Promise<OutputOf<Name>> {
    const { mode } = operations[name];
    const output = await this.#pending.track(trackingOf(name, mode), async () => {
      const holder = await this.#holder(
        mode === "report" && this.#options.threads ? "reports" : "main",
      );
      return holder.ask(name, input, this.#options.nowMs?.());
    });
    return output as OutputOf<Name>;
  }

  state(): StoreState {
    return this.#pending.state();
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const holder of [...this.#holders.values()]) {
      await holder.then((started) => started.close()).catch(() => undefined);
    }
  }

  /** Who has the file for this role; one that ended or could not start is replaced. */
  #holder(role: Role): Promise<SqliteHolder> {
    const current = this.#holders.get(role);
    if (current !== undefined) return current;
    if (this.#closed) return Promise.reject(new StoreError("unavailable", "The store is closed."));
    const { file, busyTimeoutMs, threads } = this.#options;
    const settings = { file, busyTimeoutMs, readOnly: role === "reports" };
    const started: Promise<SqliteHolder> = threads
      ? SqliteThread.start(settings)
      : holdHere(settings);
    this.#holders.set(role, started);
    const forget = () => this.#holders.delete(role);
    started.then((holder) => holder.ended).then(forget, forget);
    return started;
  }
}
