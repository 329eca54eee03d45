/**
 * Measures what other weight types would make of a model on this machine: files of each type are
 * made in a temporary folder and measured in turns, so that a noisy minute hits all alike.
 */
import { mkdir, mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { type FileType, parseFileType } from "../llama/file-types.ts";
import type { GgufHeader } from "../llama/gguf-header.ts";
import type { NumericsMode } from "../llama/numerics.ts";
import { convertInProcess } from "./converted-model.ts";
import { diskProblem } from "./fetch-error.ts";
import { checkFreeSpace, readModel } from "./optimize-convert.ts";
import { OptimizeError } from "./optimize-error.ts";
import { measureFile } from "./optimize-measure.ts";
import type { Measurement, MeasureOrder } from "./optimize-messages.ts";
import {
  type Candidate,
  compareTypes,
  type FailedType,
  type OptimizeReport,
  recommend,
} from "./optimize-report.ts";
import { defaultTypes, estimateBytes, hasFloatWeights, ownTypeName } from "./optimize-types.ts";

export interface OptimizeOptions {
  readonly path: string;
  /** Undefined: those that make sense for the file. */
  readonly types: readonly FileType[] | undefined;
  readonly text: string;
  /** The cache folder: temporary files are made in it. */
  readonly cache: string;
  readonly numerics: NumericsMode;
  readonly threads: number;
  readonly rounds: number;
  readonly signal: AbortSignal;
  /** Told before each piece of work. */
  readonly onStep: (step: OptimizeStep) => void;
  /** For tests. */
  readonly measure?: (order: MeasureOrder, signal: AbortSignal) => Promise<Measurement>;
}

export interface OptimizeStep {
  /** From 1. */
  readonly number: number;
  readonly count: number;
  readonly text: string;
}

interface TrialFile {
  readonly type: string;
  readonly fileType: FileType | undefined;
  readonly path: string;
  readonly bytes: number;
}

const folderPrefix = "optimize-";

/**
 * Throws an OptimizeError, a ModelFileError or a FetchError (a full disk). The temporary files are
 * gone afterwards, however it ends.
 */
export async function optimizeModel(options: OptimizeOptions): Promise<OptimizeReport> {
  const header = readModel(options.path);
  const types = (options.types ?? defaultTypes(header, options.numerics)).filter(
    (type) => type !== parseFileType(ownTypeName(header)),
  );
  const folder = await temporaryFolder(options.cache);
  try {
    const needed = types.reduce((total, type) => total + estimateBytes(header, type), 0);
    await checkFreeSpace(folder, needed, "--cache, or try fewer types with --types");
    return await measureAll(header, types, folder, options);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function measureAll(
  header: GgufHeader,
  types: readonly FileType[],
  folder: string,
  options: OptimizeOptions,
): Promise<OptimizeReport> {
  const { rounds, numerics, threads } = options;
  const [path = options.path] = header.paths;
  const failed: FailedType[] = [];
  const step = stepCounter(options, types.length + rounds * (types.length + 1));
  const original = { type: ownTypeName(header), fileType: undefined, path };
  const files: TrialFile[] = [{ ...original, bytes: await bytesOf(header.paths) }];
  for (const type of types) {
    step(`making ${type.toUpperCase()}`);
    const file = await makeFile(path, type, folder, options);
    if ("reason" in file) failed.push(file);
    else files.push(file);
  }
  const { candidates, failures } = await measureInTurns(files, step, options);
  const [first, ...others] = candidates;
  if (first === undefined) throw new OptimizeError(failures[0]?.reason ?? "nothing was measured");
  const measured = compareTypes(first, others);
  return {
    path,
    measured,
    failed: [...failed, ...failures],
    recommended: recommend(measured),
    numerics,
    threads,
    rounds,
    scoredTokens: first.rounds[0]?.logprobs.length ?? 0,
    tokensLeftOut: first.rounds[0]?.tokensLeftOut ?? 0,
    requantised: !hasFloatWeights(header),
  };
}

/** One measurement of each file a round, every round beginning with another file. */
async function measureInTurns(
  files: readonly TrialFile[],
  step: (text: string) => void,
  options: OptimizeOptions,
): Promise<{ readonly candidates: Candidate[]; readonly failures: FailedType[] }> {
  const { rounds, signal, numerics, threads, text, measure = measureFile } = options;
  const measurements = files.map((): Measurement[] => []);
  const reasons = new Map<number, string>();
  for (let round = 0; round < rounds; round += 1) {
    for (let turn = 0; turn < files.length; turn += 1) {
      const index = (turn + round) % files.length;
      const file = files[index];
      if (file === undefined || reasons.has(index)) continue;
      step(`round ${round + 1} of ${rounds}, measuring ${file.type}`);
      const order = { path: file.path, numerics, threads, text, wholeText: round === 0 };
      try {
        measurements[index]?.push(await measure(order, signal));
      } catch (error) {
        signal.throwIfAborted();
        // Nothing can be compared with an original that does not run.
        if (index === 0) throw new OptimizeError((error as Error).message);
        reasons.set(index, (error as Error).message);
      }
    }
  }
  const succeeded = files.filter((_, index) => !reasons.has(index));
  const candidates = succeeded.map((file) => ({
    ...file,
    rounds: measurements[files.indexOf(file)] ?? [],
  }));
  const failures = [...reasons].map(([index, reason]) => ({
    type: files[index]?.type ?? "",
    reason,
  }));
  return { candidates, failures };
}

async function makeFile(
  from: string,
  type: FileType,
  folder: string,
  { signal, threads }: OptimizeOptions,
): Promise<TrialFile | FailedType> {
  const path = join(folder, `${type}.gguf`);
  const name = type.toUpperCase();
  try {
    await convertInProcess(from, path, type, signal, threads);
    return { type: name, fileType: type, path, bytes: await bytesOf([path]) };
  } catch (error) {
    signal.throwIfAborted();
    const reason = diskProblem(error, folder);
    if (reason !== error) throw reason;
    return { type: name, reason: (error as Error).message };
  }
}

function stepCounter({ onStep }: OptimizeOptions, count: number): (text: string) => void {
  let number = 0;
  return (text) => {
    number += 1;
    onStep({ number, count, text });
  };
}

async function bytesOf(paths: readonly string[]): Promise<number> {
  const sizes = await Promise.all(paths.map(async (path) => (await stat(path)).size));
  return sizes.reduce((total, size) => total + size, 0);
}

/** A new folder named after this process; those of processes that are no more are removed. */
async function temporaryFolder(cache: string): Promise<string> {
  try {
    await mkdir(cache, { recursive: true });
    for (const name of await readdir(cache)) {
      const owner = new RegExp(`^${folderPrefix}(\\d+)-`).exec(name)?.[1];
      if (owner === undefined || isRunning(Number(owner))) continue;
      await rm(join(cache, name), { recursive: true, force: true });
    }
    return await mkdtemp(join(cache, `${folderPrefix}${process.pid}-`));
  } catch (error) {
    throw diskProblem(error, cache);
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}
