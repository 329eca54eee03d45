/** The thread that has the SQLite file: its calls wait for the disk, which must not hold up streams. */
import { parentPort, workerData } from "node:worker_threads";
import { messageOf, problemOf } from "./sqlite-errors.ts";
import type { FromWorker, ToWorker, WorkerSettings } from "./sqlite-messages.ts";
import { SqliteRunner } from "./sqlite-runner.ts";

const port = parentPort;
if (port === null) throw new Error("This file is run as a worker thread.");
const say = (message: FromWorker): void => port.postMessage(message);

try {
  const runner = await SqliteRunner.open(workerData as WorkerSettings);
  port.on("message", (message: ToWorker) => {
    if (message.kind === "close") {
      void runner.close().then(() => port.close());
      return;
    }
    const { id, name, input, nowMs } = message;
    void runner.run(name, input, nowMs).then(
      (output) => say({ kind: "done", id, output }),
      (error: unknown) =>
        say({ kind: "error", id, problem: problemOf(error), message: messageOf(error) }),
    );
  });
  say({ kind: "ready" });
} catch (error) {
  say({ kind: "failed", message: messageOf(error) });
  port.close();
}
