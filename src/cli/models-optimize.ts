/** `completionist models optimize`: measures weight types on this machine, or converts to one. */
import { readFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import type { LoadedConfiguration } from "../config/load.ts";
import { type FileType, parseFileType } from "../llama/file-types.ts";
import { type OptimizeStep, optimizeModel } from "../models/optimize.ts";
import { convertFile } from "../models/optimize-convert.ts";
import { OptimizeError } from "../models/optimize-error.ts";
import { optimizeText as builtInText } from "../models/optimize-text.ts";
import { megabytes } from "../models/progress.ts";
import { originalOf } from "../models/stored-models.ts";
import { optimizeJson, optimizeText } from "./models-optimize-text.ts";
import { shellWord } from "./shell-word.ts";
import { signalExitCode, watchStopSignals } from "./stop-signals.ts";
import { UserError, usageExitCode } from "./user-error.ts";

export interface OptimizeFlags {
  /** A path or the name of a stored model; undefined: the default model. */
  readonly file: string | undefined;
  readonly types: string | undefined;
  readonly text: string | undefined;
  readonly rounds: string | undefined;
  readonly convert: string | undefined;
  readonly output: string | undefined;
  readonly force: boolean;
  readonly json: boolean;
}

const roundsDefault = 3;
const roundsMax = 99;
/** Of a text file; far more than is ever scored. */
const textBytesMax = 4 * 1024 * 1024;

/** One core is left to others: with all of them taken, a busy neighbour would spoil the figures. */
function threadsDefault(): number {
  return Math.max(1, availableParallelism() - 1);
}

export async function optimize(loaded: LoadedConfiguration, flags: OptimizeFlags): Promise<number> {
  checkFlags(flags);
  const signals = watchStopSignals();
  try {
    const work = flags.convert === undefined ? measure : convert;
    await work(loaded, flags, signals.stopped);
    return 0;
  } catch (error) {
    if (signals.stopped.aborted) return signalExitCode(signals.signal);
    if (error instanceof OptimizeError) throw new UserError(error.message);
    throw error;
  } finally {
    signals.dispose();
  }
}

type Work = (
  loaded: LoadedConfiguration,
  flags: OptimizeFlags,
  signal: AbortSignal,
) => Promise<void>;

const measure: Work = async ({ configuration }, flags, signal) => {
  const types = flags.types === undefined ? undefined : typesOf(flags.types);
  const rounds = roundsOf(flags.rounds);
  const text = flags.text === undefined ? builtInText : await readText(flags.text);
  const { cache, numerics, threads = threadsDefault() } = configuration;
  const path = await originalOf(flags.file, { cache, signal });
  const steps = createStepLine(process.stderr);
  try {
    const options = { path, types, text, cache, numerics, threads, rounds, signal };
    const report = await optimizeModel({ ...options, onStep: steps.show });
    steps.clear();
    const print = flags.json ? optimizeJson : optimizeText;
    process.stdout.write(print(report, flags.file));
  } finally {
    steps.clear();
  }
};

const convert: Work = async ({ configuration }, flags, signal) => {
  const type = typeOf(flags.convert ?? "");
  const { cache, threads = threadsDefault() } = configuration;
  const path = await originalOf(flags.file, { cache, signal });
  const { output, force } = flags;
  const made = await convertFile({ path, type, output, force, threads, signal });
  if (flags.json) {
    process.stdout.write(`${JSON.stringify({ file: made.path, bytes: made.bytes })}\n`);
    return;
  }
  process.stdout.write(
    `Wrote ${made.path} (${megabytes(made.bytes)}). Serve it with:\n` +
      `  npx completionist serve --model ${shellWord(made.path)}\n`,
  );
};

function checkFlags({ convert, output, force, types, text, rounds }: OptimizeFlags): void {
  if (convert === undefined) {
    const lone = output !== undefined ? "--output" : force ? "--force" : undefined;
    if (lone !== undefined) throw usage(`${lone} goes with --convert TYPE`);
    return;
  }
  const measuring = { "--types": types, "--text": text, "--rounds": rounds };
  for (const [name, value] of Object.entries(measuring)) {
    if (value !== undefined) throw usage(`${name} is for measuring; --convert only converts`);
  }
}

function usage(message: string): UserError {
  return new UserError(message, usageExitCode);
}

function typesOf(list: string): readonly FileType[] {
  const names = list.split(",").filter((name) => name.trim() !== "");
  if (names.length === 0) throw usage("--types: expected weight types with commas between them");
  return [...new Set(names.map(typeOf))];
}

function typeOf(name: string): FileType {
  const type = parseFileType(name);
  if (typeof type === "object") throw usage(type.problem.replace(/\.$/, ""));
  return type;
}

function roundsOf(text: string | undefined): number {
  if (text === undefined) return roundsDefault;
  const rounds = /^\d+$/.test(text) ? Number(text) : 0;
  if (rounds >= 1 && rounds <= roundsMax) return rounds;
  throw usage(`--rounds: expected a whole number from 1 to ${roundsMax}, got "${text}"`);
}

async function readText(path: string): Promise<string> {
  let bytes: Buffer;
  try {
    bytes = await readFile(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new UserError(`the text file ${path} cannot be read (${code})`);
  }
  if (bytes.length > textBytesMax) {
    throw new UserError(`the text file ${path} is larger than ${megabytes(textBytesMax)}`);
  }
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    if (text.trim() !== "") return text;
  } catch {
    throw new UserError(`the text file ${path} is not UTF-8 text`);
  }
  throw new UserError(`the text file ${path} is empty`);
}

interface StepLine {
  show(step: OptimizeStep): void;
  /** Removes the line from a terminal. */
  clear(): void;
}

/** One line that is written over on a terminal; elsewhere a line for each step. */
function createStepLine(stream: NodeJS.WriteStream): StepLine {
  const wipe = "\r\u001b[K";
  return {
    show: ({ number, count, text }) => {
      const line = `${number} of ${count}: ${text}`;
      stream.write(stream.isTTY ? `${wipe}${line}` : `${line}\n`);
    },
    clear: () => {
      if (stream.isTTY) stream.write(wipe);
    },
  };
}
