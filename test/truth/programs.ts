/**
 * Runs the truth programs as processes of their own: `runReference` (the native library through a
 * second binding) and `runOutside` (somebody else's build, from Python).
 */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import type { ReferenceAnswer, ReferenceRequest } from "./reference-logprobs.ts";

/** What the outside program understands. */
export type OutsideRequest = Omit<ReferenceRequest, "chunkRows" | "generate"> & {
  readonly chunkRows?: number;
};

const FOLDER = import.meta.dirname;
const REQUIREMENTS = join(FOLDER, "outside-requirements.txt");
/** Answers hold ids and numbers only: about 300 bytes a token. */
const ANSWER_BYTES_MAX = 256 * 1024 * 1024;
/** A busy machine reads tens of tokens a second; this is for prompts of a few thousand. */
const RUN_TIMEOUT_MS = 600_000;
const INSTALL_TIMEOUT_MS = 300_000;

/** Rejects with what the program says on its error stream. */
export async function runReference(request: ReferenceRequest): Promise<ReferenceAnswer> {
  const output = await run(process.execPath, [join(FOLDER, "reference-logprobs.ts")], request);
  return JSON.parse(output) as ReferenceAnswer;
}

/** `python` is what `installOutside` gives. */
export async function runOutside(
  python: string,
  request: OutsideRequest,
): Promise<ReferenceAnswer> {
  const output = await run(python, [join(FOLDER, "outside-reference.py")], request);
  return JSON.parse(output) as ReferenceAnswer;
}

/**
 * Makes a Python environment with the pinned wheel, unless this version of it is there, and gives
 * the path of its interpreter. Needs Python 3.10 to 3.14 on Linux x64 and a package index.
 */
export async function installOutside(folder: string = defaultFolder()): Promise<string> {
  const python = join(folder, "bin", "python");
  const finished = join(folder, "finished");
  if (existsSync(finished)) return python;
  mkdirSync(folder, { recursive: true });
  await run("python3", ["-m", "venv", "--clear", folder], undefined, INSTALL_TIMEOUT_MS);
  const options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:"];
  const pip = ["-m", "pip", "install", ...options, "--require-hashes", "-r", REQUIREMENTS];
  await run(python, pip, undefined, INSTALL_TIMEOUT_MS);
  writeFileSync(finished, "");
  return python;
}

/** In the cache, named by what is installed. */
function defaultFolder(): string {
  const cache = process.env.COMPLETIONIST_CACHE || join(homedir(), ".cache", "completionist");
  const hash = createHash("sha256").update(readFileSync(REQUIREMENTS)).digest("hex").slice(0, 12);
  return join(cache, `outside-reference-${hash}`);
}

function run(
  program: string,
  parameters: readonly string[],
  input: unknown,
  timeoutMs = RUN_TIMEOUT_MS,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { timeout: timeoutMs, maxBuffer: ANSWER_BYTES_MAX };
    const child = execFile(program, parameters, options, (error, output, complaint) => {
      if (error === null) resolve(output);
      else reject(new Error(complaint.trim() || error.message, { cause: error }));
    });
    // A program that fails early closes its input; its exit code tells more than that.
    child.stdin?.on("error", () => undefined);
    child.stdin?.end(input === undefined ? "" : JSON.stringify(input));
  });
}

if (import.meta.main) {
  process.stdout.write(`${await installOutside()}\n`);
}
