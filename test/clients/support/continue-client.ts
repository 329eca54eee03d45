/**
 * Continue's adapters in a folder of their own: they bring the kits of several cloud services, a
 * hundred megabytes that nobody but this test needs. Installed once into the machine's temporary
 * folder, by their lock file.
 */
import { execFile } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const folder = join(import.meta.dirname, "..", "continue");
const files = ["package.json", "package-lock.json", "client.mjs"];

export interface ContinueAnswer {
  readonly text: string;
  readonly streamed: string;
  readonly chunksBeforeAbort: number;
  readonly usage: unknown;
}

export async function runContinueClient(url: string, model: string): Promise<ContinueAnswer> {
  const client = join(await installation(), "client.mjs");
  const { stdout } = await run(process.execPath, [client, url, model]);
  return JSON.parse(stdout) as ContinueAnswer;
}

async function installation(): Promise<string> {
  const hash = createHash("sha256");
  for (const file of files) hash.update(readFileSync(join(folder, file)));
  const ready = join(tmpdir(), `completionist-continue-${hash.digest("hex").slice(0, 16)}`);
  if (existsSync(ready)) return ready;
  const unfinished = `${ready}.${randomUUID()}.part`;
  mkdirSync(unfinished);
  for (const file of files) cpSync(join(folder, file), join(unfinished, file));
  const options = ["ci", "--ignore-scripts", "--omit=optional", "--prefer-offline"];
  await run("npm", options, { cwd: unfinished, shell: process.platform === "win32" });
  try {
    renameSync(unfinished, ready);
  } catch (error) {
    // Another run has made the same one meanwhile.
    rmSync(unfinished, { recursive: true, force: true });
    if (!existsSync(ready)) throw error;
  }
  return ready;
}
