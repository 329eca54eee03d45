/**
 * Sequences and context length of an engine: what was asked for, or what fits into memory where
 * nothing was. What cannot fit is refused before anything large is allocated.
 */
import { MemoryShortError } from "./engine-size-error.ts";
import type { GgufHeader } from "./gguf-header.ts";
import {
  type CacheFormat,
  checkCacheFormat,
  estimateMemory,
  type MemoryEstimate,
  trainedContextLength,
} from "./memory-estimate.ts";

export { MemoryShortError };

export interface WantedSize extends CacheFormat {
  /** Tokens of one sequence; undefined: 4,096 or the model's, cut to what fits. */
  readonly contextLength: number | undefined;
  /** Undefined: 8, or fewer where memory is short. */
  readonly slots: number | undefined;
  /** Layers that a GPU with a memory of its own takes over. */
  readonly gpuLayers?: number;
}

export interface AvailableMemory {
  readonly freeBytes: number;
  /** What the user allows; undefined: all that is free. */
  readonly limitBytes: number | undefined;
}

export interface EngineSize {
  readonly contextLength: number;
  readonly slots: number;
  readonly memory: MemoryEstimate;
  /** What the user should know, each one line. */
  readonly warnings: readonly string[];
}

/** Tokens of one sequence, unless told; a model trained for less keeps to that. */
export const defaultContextLength = 4096;
export const defaultSlots = 8;
/** Below it a context is of no use to anyone who did not ask for it. */
const contextLengthMin = 256;
/** Defaults leave the rest for whatever else runs. */
const defaultShare = 0.9;
const contextLengthMax = 16_777_216;
const slotsMax = 256;

/** Throws a MemoryShortError, or an EngineSizeError for a cache format that the model cannot have. */
export function planEngineSize(
  header: GgufHeader,
  wanted: WantedSize,
  available: AvailableMemory,
): EngineSize {
  checkCacheFormat(header, wanted);
  const trained = trainedContextLength(header);
  const all = Math.min(defaultContextLength, trained);
  const contextLength = wanted.contextLength ?? all;
  const slots = wanted.slots ?? defaultSlots;
  const at = (contextLength: number, slots: number) =>
    estimateMemory(header, { ...wanted, contextLength, slots });
  const { freeBytes, limitBytes = Number.POSITIVE_INFINITY } = available;
  const tight = Math.min(freeBytes, limitBytes);
  const roomy = Math.min(defaultShare * freeBytes, limitBytes);
  const warnings = trainedWarning(wanted.contextLength, trained);
  const memory = at(contextLength, slots);
  if (memory.total <= roomy) return { contextLength, slots, memory, warnings };
  for (const [length, count] of smaller(wanted, contextLength, slots)) {
    const cut = at(length, count);
    if (cut.total > roomy) continue;
    warnings.push(cutLine(length, count, memory.total, available));
    return { contextLength: length, slots: count, memory: cut, warnings };
  }
  if (memory.total <= tight) return { contextLength, slots, memory, warnings };
  throw shortError(wanted, memory, available, at);
}

function trainedWarning(asked: number | undefined, trained: number): string[] {
  if (asked === undefined || asked <= trained) return [];
  return [
    `--context ${asked} is more than the ${trained} tokens that the model was trained for: beyond ` +
      "them its text may make no sense.",
  ];
}

/** Fewer sequences first, down to two; then a shorter context; then a single sequence. */
function smaller(
  wanted: WantedSize,
  contextLength: number,
  slots: number,
): (readonly [contextLength: number, slots: number])[] {
  const lengths = wanted.contextLength === undefined ? halves(contextLength, contextLengthMin) : [];
  const counts = wanted.slots === undefined ? halves(slots, 1) : [];
  const few = counts.at(-2) ?? slots;
  const one = counts.at(-1) ?? slots;
  return [
    ...counts.slice(0, -1).map((count) => [contextLength, count] as const),
    ...lengths.map((length) => [length, few] as const),
    [contextLength, one] as const,
    ...lengths.map((length) => [length, one] as const),
  ];
}

/** 8, 1 -> 4, 2, 1. */
function halves(from: number, least: number): number[] {
  const values: number[] = [];
  for (let value = Math.floor(from / 2); value >= least; value = Math.floor(value / 2)) {
    values.push(value);
  }
  return values;
}

function cutLine(
  length: number,
  slots: number,
  fullBytes: number,
  available: AvailableMemory,
): string {
  return (
    `Memory is short (about ${bytesText(fullBytes)} wanted, ${haveText(available)}): serving ` +
    `--slots ${slots} --context ${length}.`
  );
}

/** What bounds the engine, in words. */
function haveText({ freeBytes, limitBytes = Number.POSITIVE_INFINITY }: AvailableMemory): string {
  if (limitBytes < freeBytes) return `${bytesText(limitBytes)} are allowed (--memory)`;
  return `${bytesText(freeBytes)} are free`;
}

type Estimate = (contextLength: number, slots: number) => MemoryEstimate;

function shortError(
  wanted: WantedSize,
  memory: MemoryEstimate,
  available: AvailableMemory,
  at: Estimate,
): MemoryShortError {
  const { contextLength, slots } = wanted;
  const asked = [
    ...(slots === undefined ? [] : [`--slots ${slots}`]),
    ...(contextLength === undefined ? [] : [`--context ${contextLength}`]),
  ];
  const what = asked.length === 0 ? "The model" : asked.join(" ");
  const verb = asked.length > 1 ? "need" : "needs";
  const { freeBytes, limitBytes = Number.POSITIVE_INFINITY } = available;
  const tight = Math.min(freeBytes, limitBytes);
  const parts =
    `${bytesText(memory.weights)} for weights, ${bytesText(memory.cache)} for the cache, ` +
    `${bytesText(memory.compute + memory.overhead)} for the rest`;
  return new MemoryShortError(
    `${what} ${verb} about ${bytesText(memory.total)} of memory (${parts}); ` +
      `${haveText(available)}; ${fitting(wanted, tight, at)}.`,
  );
}

/** What would fit, as far as possible with what was asked for. */
function fitting({ contextLength, slots }: WantedSize, bytes: number, at: Estimate): string {
  const fits = (length: number, count: number) => at(length, count).total <= bytes;
  const options: string[] = [];
  const longest = largest(contextLengthMax, (length) => fits(length, slots ?? 1));
  if (longest >= contextLengthMin) {
    options.push(`with --slots ${slots ?? 1}, --context ${roundDown(longest)} fits`);
  }
  if (contextLength !== undefined && slots !== 1) {
    const most = largest(slotsMax, (count) => fits(contextLength, count));
    if (most > 0) options.push(`with --context ${contextLength}, --slots ${most} fits`);
  }
  if (options.length > 0) return options.join("; ");
  const least = at(contextLengthMin, 1).total;
  if (least <= bytes) return "fewer slots would fit";
  return `even one sequence of ${contextLengthMin} tokens needs ${bytesText(least)}`;
}

/** The largest number up to `most` that fits, given that smaller ones do too; 0: none. */
function largest(most: number, fits: (value: number) => boolean): number {
  let [low, high] = [0, most];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (fits(middle)) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** To two digits, as people say it. */
function roundDown(value: number): number {
  const unit = 10 ** Math.max(0, Math.floor(Math.log10(value)) - 1);
  return Math.floor(value / unit) * unit;
}

const units = ["B", "kB", "MB", "GB", "TB", "PB"] as const;

/** Two or three digits and a unit, powers of 1,000. */
export function bytesText(bytes: number): string {
  const power = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3));
  const value = bytes / 1000 ** power;
  return `${value.toFixed(value < 9.95 && power > 0 ? 1 : 0)} ${units[power]}`;
}
