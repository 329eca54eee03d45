/** The server as its users start it: the command in a process of its own, on a port of its choice. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export interface ServerProcess {
  /** Without a path: `http://127.0.0.1:PORT`. */
  readonly url: string;
  readonly process: ChildProcess;
  /** What it printed so far, on both outputs. */
  output(): string;
  stop(): Promise<number | null>;
}

const command = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));

/**
 * Starts `completionist serve` with further options and waits until it says its address. Without
 * `--data` among them it keeps its database in a folder of its own that goes when it ends.
 */
export async function startServer(options: readonly string[]): Promise<ServerProcess> {
  const folder = mkdtempSync(join(tmpdir(), "completionist-data-"));
  const words = [command, "serve", "--port", "0", "--data", folder, ...options];
  const child = spawn(process.execPath, words, { stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  const exited = new Promise<number | null>((resolve) => {
    child.once("exit", (code) => {
      rmSync(folder, { recursive: true, force: true });
      resolve(code);
    });
  });
  const url = await new Promise<string>((resolve, reject) => {
    const read = (data: Buffer) => {
      output += data.toString();
      const address = /http:\/\/127\.0\.0\.1:\d+/.exec(output)?.[0];
      if (address !== undefined) resolve(address);
    };
    child.stdout.on("data", read);
    child.stderr.on("data", read);
    child.once("exit", (code) => reject(new Error(`the server ended with ${code}:\n${output}`)));
  });
  return {
    url,
    process: child,
    output: () => output,
    stop: () => {
      child.kill("SIGTERM");
      return exited;
    },
  };
}
