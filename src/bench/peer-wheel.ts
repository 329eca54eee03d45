/**
 * llama-server out of a Python wheel (xllamacpp), for machines without a compiler: installed into
 * a folder of the cache, started by a few lines of Python. Wheels are built for many processors and
 * so are slower than a build on the machine itself.
 */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, rename, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { BenchError } from "./bench-error.ts";

export interface WheelPeer {
  readonly kind: "wheel";
  /** The folder with the package. */
  readonly folder: string;
  readonly version: string;
}

const version = "2026.10.11549";
const installMsMax = 10 * 60_000;

export const pythonPrograms: readonly string[] =
  process.platform === "win32" ? ["py", "python"] : ["python3", "python"];

/** Takes the options of llama-server that the bench uses. */
export const wheelProgram = `
import sys, threading
import xllamacpp
words = sys.argv[1:]
given = dict(zip(words[::2], words[1::2]))
params = xllamacpp.CommonParams()
params.model.path = given["-m"]
params.hostnames = [given["--host"]]
params.port = int(given["--port"])
params.n_ctx = int(given["-c"])
params.n_parallel = int(given["-np"])
params.kv_unified = False
if "-t" in given: params.cpuparams.n_threads = int(given["-t"])
if "-tb" in given: params.cpuparams_batch.n_threads = int(given["-tb"])
if "-b" in given: params.n_batch = int(given["-b"])
if "-ub" in given: params.n_ubatch = int(given["-ub"])
server = xllamacpp.Server(params)
threading.Event().wait()
`;

function wheelFolder(cache: string): string {
  return join(resolve(cache), "bench", `xllamacpp-${version}`);
}

export function installedWheel(cache: string): WheelPeer | undefined {
  const folder = wheelFolder(cache);
  return existsSync(join(folder, "xllamacpp")) ? { kind: "wheel", folder, version } : undefined;
}

/** Installs the wheel unless it is there. Throws a BenchError that says why it cannot. */
export async function installWheel(cache: string, signal: AbortSignal): Promise<WheelPeer> {
  const present = installedWheel(cache);
  if (present !== undefined) return present;
  const folder = wheelFolder(cache);
  const draft = `${folder}.part`;
  await rm(draft, { recursive: true, force: true });
  await mkdir(draft, { recursive: true });
  const words = [
    ...["-m", "pip", "install", `xllamacpp==${version}`, "--no-deps", "--only-binary=:all:"],
    ...["--no-input", "--disable-pip-version-check", "--quiet", "--target", draft],
  ];
  let reason = "there is no Python on this machine";
  for (const python of pythonPrograms) {
    try {
      await promisify(execFile)(python, words, { timeout: installMsMax, signal });
      await rm(folder, { recursive: true, force: true });
      await rename(draft, folder);
      return { kind: "wheel", folder, version };
    } catch (error) {
      signal.throwIfAborted();
      const { code, stderr = "" } = error as { readonly code?: unknown; readonly stderr?: string };
      if (code === "ENOENT") continue;
      reason = stderr.trim().split("\n").at(-1) || (error as Error).message;
    }
  }
  await rm(draft, { recursive: true, force: true });
  throw new BenchError("failed", `--install-peer: ${reason}`);
}
