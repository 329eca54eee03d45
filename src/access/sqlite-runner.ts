/**
 * Runs operations on a SQLite file, in the thread that it is called from: reads at once, writes in
 * groups.
 */
import { sqliteDialect } from "./dialects.ts";
import { GroupCommit } from "./group-commit.ts";
import { operations } from "./operations/operations.ts";
import { connectSqlite, migrateSqlite, type SqliteConnection } from "./sqlite-connection.ts";
import { isBusy } from "./sqlite-errors.ts";
import type { WorkerSettings } from "./sqlite-messages.ts";
import type { Operation, OperationContext, OperationName } from "./store.ts";

export class SqliteRunner {
  readonly #connection: SqliteConnection;
  readonly #writes: GroupCommit;

  private constructor(connection: SqliteConnection) {
    this.#connection = connection;
    this.#writes = new GroupCommit(
      {
        begin: () => connection.execute("begin immediate"),
        commit: () => connection.execute("commit"),
        rollback: () => connection.execute("rollback"),
      },
      isBusy,
    );
  }

  /** Opens the file and, unless it is only read, brings its tables up to date. */
  static async open(settings: WorkerSettings): Promise<SqliteRunner> {
    const connection = connectSqlite(settings);
    try {
      if (!settings.readOnly) await migrateSqlite(connection);
      return new SqliteRunner(connection);
    } catch (error) {
      connection.close();
      throw error;
    }
  }

  /** Rejects with what SQLite or the operation throws. `nowMs`: the time to go by, if not now. */
  run(name: OperationName, input: unknown, nowMs: number | undefined): Promise<unknown> {
    const operation = operations[name] as Operation<unknown, unknown>;
    const context: OperationContext = {
      db: this.#connection.db,
      dialect: sqliteDialect,
      nowMs: async () => nowMs ?? Date.now(),
    };
    const run = () => operation.run(context, input);
    if (operation.mode !== "write") return run();
    return new Promise((resolve, reject) => this.#writes.add({ run, resolve, reject }));
  }

  async close(): Promise<void> {
    await this.#writes.idle();
    this.#connection.close();
  }
}
