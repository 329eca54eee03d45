/** Writes a model file again with another weight type: never over another file unless told. */
import { randomUUID } from "node:crypto";
import { rename, rm, stat, statfs } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { type FileType, parseFileType } from "../llama/file-types.ts";
import { type GgufHeader, readGgufHeader } from "../llama/gguf-header.ts";
import { modelNameOf } from "../llama/split-parts.ts";
import { convertInProcess } from "./converted-model.ts";
import { diskProblem, FetchError } from "./fetch-error.ts";
import { OptimizeError } from "./optimize-error.ts";
import { estimateBytes } from "./optimize-types.ts";
import { megabytes } from "./progress.ts";

export interface ConvertOptions {
  readonly path: string;
  readonly type: FileType;
  /** Undefined: beside the file, under its name with the type. */
  readonly output: string | undefined;
  /** Whether a file that is there may be replaced. */
  readonly force: boolean;
  readonly threads: number;
  readonly signal: AbortSignal;
}

export interface ConvertedFile {
  readonly path: string;
  readonly bytes: number;
}

/** Throws an OptimizeError, a ModelFileError or a FetchError (a full disk); leaves no rests. */
export async function convertFile(options: ConvertOptions): Promise<ConvertedFile> {
  const header = readModel(options.path);
  const [from = options.path] = header.paths;
  const target = resolve(options.output ?? convertedPath(from, options.type));
  await checkTarget(target, header.paths, options.force);
  await checkFreeSpace(dirname(target), estimateBytes(header, options.type), "--output");
  const draft = join(dirname(target), `.${basename(target)}.${randomUUID()}.part`);
  try {
    await convertInProcess(from, draft, options.type, options.signal, options.threads);
    const { size } = await stat(draft);
    await rename(draft, target);
    return { path: target, bytes: size };
  } catch (error) {
    options.signal.throwIfAborted();
    throw conversionProblem(error, target);
  } finally {
    await rm(draft, { force: true });
  }
}

/** The header of a file that has weights. Throws a ModelFileError or an OptimizeError. */
export function readModel(path: string): GgufHeader {
  const header = readGgufHeader(path);
  if (header.matrixParameters > 0) return header;
  throw new OptimizeError(
    `${path} holds a vocabulary without weights; there is nothing to convert`,
  );
}

/** `NAME.TYPE.gguf` beside the file; a type in its name is replaced. */
export function convertedPath(path: string, type: FileType): string {
  const name = modelNameOf(path);
  const match = /^(?<stem>.+)[.-](?<type>[A-Za-z0-9_]+)$/.exec(name)?.groups;
  const isType = match?.type !== undefined && typeof parseFileType(match.type) === "string";
  const stem = isType ? match?.stem : name;
  return join(dirname(path), `${stem}.${type.toUpperCase()}.gguf`);
}

async function checkTarget(
  target: string,
  sources: readonly string[],
  force: boolean,
): Promise<void> {
  if (sources.some((source) => resolve(source) === target)) {
    throw new OptimizeError(`${target} is the file that is to be converted; name another --output`);
  }
  const there = await stat(target).catch(() => undefined);
  if (there?.isDirectory()) {
    throw new OptimizeError(`${target} is a folder; --output names a file`);
  }
  if (there !== undefined && !force) {
    throw new OptimizeError(`${target} is there already; --force replaces it`);
  }
  const folder = await stat(dirname(target)).catch(() => undefined);
  if (folder?.isDirectory() !== true) {
    throw new OptimizeError(`there is no folder ${dirname(target)}`);
  }
}

/** Throws an OptimizeError when a folder has no room for so many bytes. */
export async function checkFreeSpace(
  folder: string,
  neededBytes: number,
  option: string,
  free: (folder: string) => Promise<number> = freeBytes,
): Promise<void> {
  const available = await free(folder);
  if (available >= neededBytes) return;
  throw new OptimizeError(
    `this needs up to ${megabytes(neededBytes)} in ${folder}, where ${megabytes(available)} are ` +
      `free; free some, or choose another place with ${option}`,
  );
}

async function freeBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}

function conversionProblem(error: unknown, target: string): Error {
  const problem = diskProblem(error, dirname(target));
  if (problem instanceof FetchError || problem instanceof OptimizeError) return problem;
  const reason = (problem instanceof Error ? problem.message : String(problem)).replace(/\.$/, "");
  return new OptimizeError(`the conversion failed: ${reason}`);
}
