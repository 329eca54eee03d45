/** The memory of other processes, as the system counts it. */
import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { BenchError } from "./bench-error.ts";

export interface ProcessBytes {
  /** What is in memory, pages that several processes share counted in each. */
  readonly resident: number;
  /** With a page of so many processes counted as its share in each; undefined: not told. */
  readonly proportional: number | undefined;
}

/**
 * Of a process and all that it started. Throws a BenchError where the system does not tell, and
 * where a process ends meanwhile.
 */
export async function treeBytes(pid: number): Promise<ProcessBytes> {
  const all = await Promise.all((await treeOf(pid)).map(processBytes));
  const [first] = all;
  let { resident, proportional } = first as ProcessBytes;
  for (const other of all.slice(1)) {
    resident += other.resident;
    proportional = sum(proportional, other.proportional);
  }
  return { resident, proportional };
}

const sum = (left: number | undefined, right: number | undefined): number | undefined =>
  left === undefined || right === undefined ? undefined : left + right;

async function processBytes(pid: number): Promise<ProcessBytes> {
  const rollup = await readFile(`/proc/${pid}/smaps_rollup`, "utf8").catch(() => "");
  const kilobytes = kilobytesOf(rollup, "Rss") ?? (await fromPs(pid));
  if (kilobytes === undefined) {
    throw new BenchError("failed", `the memory of process ${pid} cannot be read on this system`);
  }
  const share = kilobytesOf(rollup, "Pss");
  return { resident: kilobytes * 1024, proportional: share && share * 1024 };
}

function kilobytesOf(rollup: string, name: string): number | undefined {
  const digits = new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(rollup)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

/** The process first. Elsewhere than on Linux it stands alone. */
async function treeOf(pid: number): Promise<readonly number[]> {
  const threads = await readdir(`/proc/${pid}/task`).catch(() => []);
  const lists = await Promise.all(
    threads.map((id) => readFile(`/proc/${pid}/task/${id}/children`, "utf8").catch(() => "")),
  );
  const children = lists.flatMap((list) => list.split(" ").filter(Boolean).map(Number));
  return [pid, ...(await Promise.all(children.map(treeOf))).flat()];
}

async function fromPs(pid: number): Promise<number | undefined> {
  try {
    const { stdout } = await promisify(execFile)("ps", ["-o", "rss=", "-p", String(pid)]);
    const digits = /\d+/.exec(stdout)?.[0];
    return digits === undefined ? undefined : Number(digits);
  } catch {
    return undefined;
  }
}
