/** Finds the engine of a running server, for tests that kill it. Linux only. */
import { readFileSync } from "node:fs";
import type { ServerProcess } from "./server-process.ts";

/** The child process of the server that runs the engine. */
export function enginePid(server: ServerProcess): number {
  const { pid } = server.process;
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ");
  const engine = children.find((child) =>
    readFileSync(`/proc/${child}/cmdline`, "utf8").includes("engine-process"),
  );
  return Number(engine);
}
