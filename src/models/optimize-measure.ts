/** Has one model file measured once, in a process of its own. */
import { fork } from "node:child_process";
import { childEntry } from "../llama/child-entry.ts";
import type { Measurement, MeasureOrder, MeasureReply } from "./optimize-messages.ts";

/** Kept of what the process prints, for the reason of a failure. */
const outputCharactersMax = 4_000;

/** Rejects with an Error whose message says why the file could not be measured. */
export function measureFile(order: MeasureOrder, signal: AbortSignal): Promise<Measurement> {
  signal.throwIfAborted();
  return new Promise((resolve, reject) => {
    const child = fork(childEntry("optimize-process", import.meta.url), [], {
      serialization: "advanced",
      stdio: ["ignore", "ignore", "pipe", "ipc"],
      execArgv: [],
      signal,
    });
    let output = "";
    let reply: MeasureReply | undefined;
    child.stderr?.setEncoding("utf8");
    child.stderr?.on("data", (text: string) => {
      output = (output + text).slice(-outputCharactersMax);
    });
    child.on("message", (message) => {
      reply = message as MeasureReply;
    });
    child.on("error", reject);
    child.on("close", (code, killed) => {
      if (reply !== undefined && "measured" in reply) return resolve(reply.measured);
      if (reply !== undefined) return reject(new Error(reply.failed));
      const lastLine = output.trim().split("\n").at(-1);
      const how = killed ?? `code ${code}`;
      reject(
        new Error(`the measuring process ended with ${how}${lastLine ? `: ${lastLine}` : ""}`),
      );
    });
    child.send(order, (error) => {
      if (error !== null) reject(error);
    });
  });
}
