/**
 * Scores prompts with the native library alone: an answer to compare the server with, from a
 * program that shares no code with it. JSON on stdin, JSON on stdout; see README.md.
 */
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { NativeModel } from "./native-model.ts";

export interface ReferenceRequest {
  /** Path of a GGUF file. */
  readonly model: string;
  /** Token ids, used as they are, or text. */
  readonly prompts: readonly (readonly number[] | string)[];
  /**
   * Rows evaluated by one call, at most 512; default 128. A last chunk of one row takes another
   * from the chunk before it. A list gives the sizes of the chunks one by one.
   */
  readonly chunkRows?: number | readonly number[];
  /** Default 5. */
  readonly top?: number;
  /** Default 1. */
  readonly threads?: number;
  /** Default false. */
  readonly flashAttention?: boolean;
  /** Whether the library may repack weights; default true. */
  readonly extraBuffers?: boolean;
  /** Tokens chosen greedily after each prompt, one row at a time; default 0. */
  readonly generate?: number;
}

export interface ReferenceAnswer {
  /** What the native library calls itself. */
  readonly library: string;
  readonly vocabularySize: number;
  readonly prompts: readonly ReferencePrompt[];
}

export interface ReferencePrompt {
  /** The prompt's tokens, then those generated. */
  readonly tokens: readonly number[];
  /** Of each token given those before it; null for the first. */
  readonly logprobs: readonly (number | null)[];
  /** The likeliest tokens at each position, best first, ties by id; null for the first. */
  readonly top: readonly (readonly Ranked[] | null)[];
  /** The likeliest tokens after the last one. */
  readonly next: readonly Ranked[];
}

export type Ranked = readonly [token: number, logprob: number];

const CHUNK_ROWS = 128;
const ROWS_MAX = 512;
const TOP = 5;
/** Contexts are sized in multiples of this by the library itself. */
const CONTEXT_STEP = 256;

/** Answers one request. Loads the model anew each time. */
export function scoreReference(request: ReferenceRequest): ReferenceAnswer {
  const generate = request.generate ?? 0;
  // A token holds at least one byte, so this is enough for texts as well.
  const longest = Math.max(0, ...request.prompts.map((prompt) => Buffer.from(prompt).length)) + 8;
  const model = new NativeModel(request.model, {
    threads: request.threads ?? 1,
    contextLength: Math.ceil((longest + generate) / CONTEXT_STEP) * CONTEXT_STEP,
    flashAttention: request.flashAttention ?? false,
    extraBuffers: request.extraBuffers ?? true,
  });
  const prompts = request.prompts.map((prompt) => {
    const tokens = typeof prompt === "string" ? model.tokenize(prompt) : [...prompt];
    return scorePrompt(model, tokens, request);
  });
  return { library: model.version, vocabularySize: model.vocabularySize, prompts };
}

function scorePrompt(
  model: NativeModel,
  tokens: number[],
  request: ReferenceRequest,
): ReferencePrompt {
  if (tokens.length === 0) throw new RangeError("a prompt has no tokens");
  const count = request.top ?? TOP;
  const logprobs: (number | null)[] = [null];
  const top: (Ranked[] | null)[] = [null];
  let next: Ranked[] = [];
  model.forget();
  let position = 0;
  const score = (logits: Float32Array, row: number): void => {
    const normaliser = logSumExp(logits);
    next = likeliest(logits, normaliser, count);
    const following = tokens[position + row + 1];
    if (following === undefined) return;
    logprobs.push((logits[following] ?? Number.NaN) - normaliser);
    top.push(next);
  };
  for (const rows of chunkSizes(tokens.length, request.chunkRows ?? CHUNK_ROWS)) {
    model.evaluate(tokens.slice(position, position + rows), position, score);
    position += rows;
  }
  for (let step = 0; step < (request.generate ?? 0); step++) {
    const chosen = next[0];
    if (chosen === undefined) break;
    tokens.push(chosen[0]);
    logprobs.push(chosen[1]);
    top.push(next);
    model.evaluate([chosen[0]], position, score);
    position++;
  }
  return { tokens, logprobs, top, next };
}

/** How many rows each call takes. */
export function chunkSizes(length: number, chunkRows: number | readonly number[]): number[] {
  if (typeof chunkRows !== "number") {
    const sum = chunkRows.reduce((total, rows) => total + rows, 0);
    if (sum !== length) throw new RangeError(`chunks of ${sum} rows for a prompt of ${length}`);
    return [...chunkRows];
  }
  if (!Number.isInteger(chunkRows) || chunkRows < 1 || chunkRows > ROWS_MAX) {
    throw new RangeError(`chunkRows must be 1 to ${ROWS_MAX}, not ${chunkRows}`);
  }
  const sizes: number[] = [];
  for (let left = length; left > 0; ) {
    const leavesOne = left === chunkRows + 1 && chunkRows > 2;
    const rows = Math.min(left, leavesOne ? chunkRows - 1 : chunkRows);
    sizes.push(rows);
    left -= rows;
  }
  return sizes;
}

/** In float64, with the largest logit taken out first. */
function logSumExp(logits: Float32Array): number {
  let largest = Number.NEGATIVE_INFINITY;
  for (const logit of logits) largest = Math.max(largest, logit);
  let sum = 0;
  for (const logit of logits) sum += Math.exp(logit - largest);
  return largest + Math.log(sum);
}

/** One pass over the vocabulary for each place: the first of the largest that is still free. */
function likeliest(logits: Float32Array, normaliser: number, count: number): Ranked[] {
  const ranked: Ranked[] = [];
  const taken = new Set<number>();
  while (ranked.length < Math.min(count, logits.length)) {
    let best = -1;
    let bestLogit = Number.NEGATIVE_INFINITY;
    for (let token = 0; token < logits.length; token++) {
      const logit = logits[token] ?? Number.NEGATIVE_INFINITY;
      if ((logit > bestLogit || best < 0) && !taken.has(token)) {
        best = token;
        bestLogit = logit;
      }
    }
    taken.add(best);
    ranked.push([best, bestLogit - normaliser]);
  }
  return ranked;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  try {
    const request = JSON.parse(readFileSync(0, "utf8")) as ReferenceRequest;
    process.stdout.write(`${JSON.stringify(scoreReference(request))}\n`);
  } catch (error) {
    process.stderr.write(`reference-logprobs: ${error instanceof Error ? error.message : error}\n`);
    process.exitCode = 1;
  }
}
