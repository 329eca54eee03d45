/**
 * The form in which the default model is served: its weights converted once to a type that the
 * engine reads faster. A record beside the file says what it was made of. The file that was fetched
 * stays: it is what the identity refers to, and another release may convert it anew without a network.
 */
import { fork } from "node:child_process";
import { readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { z } from "zod";
import { childEntry } from "../llama/child-entry.ts";
import { packageVersion } from "../llama/platform-package.ts";
import { diskProblem } from "./fetch-error.ts";
import { sha256Of } from "./file-hash.ts";

/** Says how the file beside it was made. */
const recordSchema = z.object({
  /** SHA-256 of the file it was converted from: the identity of the model. */
  sourceSha256: z.string(),
  type: z.string(),
  /** Release of the native library that converted it. */
  library: z.string(),
  sha256: z.string(),
  bytes: z.number(),
});

export type ConversionRecord = z.infer<typeof recordSchema>;

export function recordPath(path: string): string {
  return `${path}.json`;
}

export async function readRecord(path: string): Promise<ConversionRecord | undefined> {
  try {
    return recordSchema.parse(JSON.parse(await readFile(recordPath(path), "utf8")));
  } catch {
    return undefined;
  }
}

/** Whether the file is there, unharmed, and was made of that source. */
export async function isConverted(
  path: string,
  wanted: { readonly sourceSha256: string; readonly type: string },
): Promise<boolean> {
  const record = await readRecord(path);
  if (record?.sourceSha256 !== wanted.sourceSha256 || record.type !== wanted.type) return false;
  return (await sha256Of(path)) === record.sha256;
}

export interface ConversionOptions {
  readonly sourcePath: string;
  readonly sourceSha256: string;
  readonly targetPath: string;
  readonly type: string;
  readonly signal: AbortSignal;
  /** Does the conversion; a process of the native library by default. */
  readonly convert?: Converter;
}

/** Rejects with an Error whose message is a reason, no sentence. */
export type Converter = (
  from: string,
  to: string,
  type: string,
  signal: AbortSignal,
) => Promise<void>;

/** Makes the file and its record. Nothing is left behind when it fails. */
export async function convertModel(options: ConversionOptions): Promise<ConversionRecord> {
  const { targetPath, type } = options;
  const draft = `${targetPath}.part`;
  try {
    await (options.convert ?? convertInProcess)(options.sourcePath, draft, type, options.signal);
    const sha256 = await sha256Of(draft);
    if (sha256 === undefined) throw new Error("the converter wrote no file");
    const record: ConversionRecord = {
      sourceSha256: options.sourceSha256,
      type,
      library: packageVersion,
      sha256,
      bytes: (await stat(draft)).size,
    };
    // The record first: a file without the right record is made again, the other way round not.
    await writeFile(recordPath(targetPath), `${JSON.stringify(record, undefined, 2)}\n`);
    await rename(draft, targetPath);
    return record;
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

/** Kept of what the converter prints, for the reason of a failure. */
const outputCharactersMax = 4_000;

/** The native library may end its process, so it gets one of its own. */
export const convertInProcess = (
  from: string,
  to: string,
  type: string,
  signal: AbortSignal,
  threads = 1,
): Promise<void> =>
  new Promise((resolve, reject) => {
    const child = fork(
      childEntry("../llama/quantize-process", import.meta.url),
      [from, to, type.toLowerCase(), String(threads)],
      {
        stdio: ["ignore", "ignore", "pipe", "ipc"],
        signal,
      },
    );
    let output = "";
    child.stderr?.setEncoding("utf8");
    child.stderr?.on("data", (chunk: string) => {
      output = (output + chunk).slice(-outputCharactersMax);
    });
    child.on("error", (error) => reject(diskProblem(error, to)));
    child.on("close", (code, killed) => {
      if (code === 0) return resolve();
      const lastLine = output.trim().split("\n").at(-1);
      reject(new Error(lastLine || `the converter ended with ${killed ?? `code ${code}`}`));
    });
  });
