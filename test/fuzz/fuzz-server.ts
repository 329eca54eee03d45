/** A server under fuzzing: its health, its two processes, their memory. */
import { existsSync, readFileSync } from "node:fs";
import type { ServerProcess } from "../support/server-process.ts";

/** Resident memory in MB. */
export interface Memory {
  readonly server: number;
  readonly engine: number;
}

export interface Health {
  readonly status: string;
  readonly restarts: number;
}

export async function readHealth(server: ServerProcess): Promise<Health> {
  const response = await fetch(`${server.url}/health`);
  return (await response.json()) as Health;
}

/** Undefined where the system does not show it. */
export function readMemory(server: Pick<ServerProcess, "process">): Memory | undefined {
  const pid = server.process.pid ?? 0;
  const engine = enginePid(pid);
  if (engine === undefined) return undefined;
  return { server: residentMegabytes(pid), engine: residentMegabytes(engine) };
}

/** The server's child process that runs the engine. */
export function enginePid(serverPid: number): number | undefined {
  const list = `/proc/${serverPid}/task/${serverPid}/children`;
  if (!existsSync(list)) return undefined;
  const children = readFileSync(list, "utf8").trim().split(" ").filter(Boolean);
  const isEngine = (pid: string) =>
    readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("engine-process");
  const engine = children.find(isEngine);
  return engine === undefined ? undefined : Number(engine);
}

function residentMegabytes(pid: number): number {
  const line = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
  return Math.round(Number(line?.[1] ?? 0) / 1024);
}
