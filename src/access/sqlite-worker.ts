/**
 * The thread that has the SQLite file: its calls wait for the disk, which must not hold up streams.
 * Reads run at once, writes in groups.
 */
import { parentPort, workerData } from "node:worker_threads";
import { sqliteDialect } from "./dialects.ts";
import { GroupCommit } from "./group-commit.ts";
import { operations } from "./operations/operations.ts";
import { connectSqlite, migrateSqlite, type SqliteConnection } from "./sqlite-connection.ts";
import { isBusy, problemOf } from "./sqlite-errors.ts";
import type { FromWorker, ToWorker, WorkerSettings } from "./sqlite-messages.ts";
import type { Operation, OperationContext } from "./store.ts";

const settings = workerData as WorkerSettings;
const port = parentPort;
if (port === null) throw new Error("This file is run as a worker thread.");

const say = (message: FromWorker): void => port.postMessage(message);
const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);

try {
  const connection = connectSqlite(settings);
  if (!settings.readOnly) await migrateSqlite(connection);
  serve(connection);
  say({ kind: "ready" });
} catch (error) {
  say({ kind: "failed", message: messageOf(error) });
  port.close();
}

function serve(connection: SqliteConnection): void {
  const writes = new GroupCommit(
    {
      begin: () => connection.execute("begin immediate"),
      commit: () => connection.execute("commit"),
      rollback: () => connection.execute("rollback"),
    },
    isBusy,
  );
  port?.on("message", (message: ToWorker) => {
    if (message.kind === "close") {
      void writes.idle().then(() => {
        connection.close();
        port.close();
      });
      return;
    }
    const { id, name, input, nowMs } = message;
    const operation = operations[name] as Operation<unknown, unknown>;
    const context: OperationContext = {
      db: connection.db,
      dialect: sqliteDialect,
      nowMs: async () => nowMs ?? Date.now(),
    };
    const job = {
      run: () => operation.run(context, input),
      resolve: (output: unknown) => say({ kind: "done", id, output }),
      reject: (error: unknown) =>
        say({ kind: "error", id, problem: problemOf(error), message: messageOf(error) }),
    };
    if (operation.mode === "write") writes.add(job);
    else void job.run().then(job.resolve, job.reject);
  });
}
