/** The memory of another process, as the system counts it. */
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { BenchError } from "./bench-error.ts";

/** Resident bytes. Throws a BenchError where the system does not tell. */
export async function processBytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? (await fromPs(pid));
  if (kilobytes === undefined) {
    throw new BenchError("failed", `the memory of process ${pid} cannot be read on this system`);
  }
  return Number(kilobytes) * 1024;
}

async function fromPs(pid: number): Promise<string | undefined> {
  try {
    const { stdout } = await promisify(execFile)("ps", ["-o", "rss=", "-p", String(pid)]);
    return /\d+/.exec(stdout)?.[0];
  } catch {
    return undefined;
  }
}
