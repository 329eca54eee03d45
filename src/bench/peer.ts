/** Finds llama-server: a path that was named, a variable, the PATH, or the wheel that was installed. */
import { execFile } from "node:child_process";
import { accessSync, constants, existsSync, statSync } from "node:fs";
import { delimiter, join, resolve } from "node:path";
import { promisify } from "node:util";
import { BenchError } from "./bench-error.ts";
import { installedWheel, type WheelPeer } from "./peer-wheel.ts";

export interface ProgramPeer {
  readonly kind: "program";
  readonly path: string;
}

export type Peer = ProgramPeer | WheelPeer;

export const peerVariable = "LLAMA_SERVER";
const programName = process.platform === "win32" ? "llama-server.exe" : "llama-server";

export interface PeerQuestion {
  /** `--peer`. */
  readonly path: string | undefined;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly cache: string;
}

/** undefined: there is none. Throws a BenchError where one was named that cannot be run. */
export function findPeer(question: PeerQuestion): Peer | undefined {
  const { path, environment, cache } = question;
  if (path !== undefined) return named(path, "--peer");
  const variable = environment[peerVariable];
  if (variable !== undefined && variable !== "") return named(variable, peerVariable);
  for (const folder of (environment.PATH ?? "").split(delimiter)) {
    const candidate = join(folder, programName);
    if (folder !== "" && isProgram(candidate)) return { kind: "program", path: candidate };
  }
  return installedWheel(cache);
}

function named(path: string, origin: string): ProgramPeer {
  const absolute = resolve(path);
  if (!existsSync(absolute)) {
    throw new BenchError("usage", `${origin}: there is no file ${path}`);
  }
  if (!isProgram(absolute)) {
    throw new BenchError("usage", `${origin}: ${path} is no program that can be run`);
  }
  return { kind: "program", path: absolute };
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

export interface PeerFacts {
  readonly name: string;
  readonly version: string;
  /** Built on a machine like this one; wheels are built for many processors. */
  readonly native: boolean;
}

/** Throws a BenchError when the program cannot tell its version: then it cannot run here either. */
export async function peerFacts(peer: Peer): Promise<PeerFacts> {
  if (peer.kind === "wheel") {
    return { name: "llama-server (in a wheel)", version: peer.version, native: false };
  }
  try {
    const { stdout, stderr } = await promisify(execFile)(peer.path, ["--version"], {
      timeout: 30_000,
    });
    const version = /version: (.+)/.exec(`${stdout}\n${stderr}`)?.[1] ?? "unknown";
    return { name: "llama-server", version: version.trim(), native: true };
  } catch (error) {
    throw new BenchError("failed", `${peer.path} cannot be run: ${(error as Error).message}`);
  }
}
