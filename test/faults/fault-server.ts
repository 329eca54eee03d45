/** The server that is struck: a tiny model, and a watchdog that does not wait long. */
import { tinyGgufFile } from "../../src/llama/testing/tiny-gguf.ts";
import { type ServerProcess, startServer } from "../support/server-process.ts";

/** Far more than a step of the tiny model takes, even on a busy machine. */
export const watchdogSeconds = 2;

export function startFaultServer(options: readonly string[] = []): Promise<ServerProcess> {
  const model = tinyGgufFile({ contextLength: 1024 });
  const common = ["--threads", "1", "--slots", "4", "--log-level", "fatal"];
  const watchdog = ["--watchdog", String(watchdogSeconds)];
  return startServer(["--model", model, ...common, ...watchdog, ...options]);
}
