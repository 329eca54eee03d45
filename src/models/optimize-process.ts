/**
 * The process that measures one model file once, and then ends: it takes one order, sends one reply.
 * The engine is set up as the server would set it up, so that the figures are those of serving.
 */
import { readGgufHeader } from "../llama/gguf-header.ts";
import { openLibrary } from "../llama/library.ts";
import { LlamaBackend } from "../llama/llama-backend.ts";
import { Model } from "../llama/model.ts";
import { type NumericsPlan, planNumerics, restrictNumerics } from "../llama/numerics.ts";
import { tokenize } from "../llama/tokenizer.ts";
import { scoreToken } from "../sampling/score.ts";
import type { Backend, Row } from "../scheduler/backend.ts";
import { padding } from "../scheduler/padding.ts";
import {
  type Measurement,
  type MeasureOrder,
  type MeasureReply,
  textTokensMax,
  textTokensMin,
} from "./optimize-messages.ts";

const contextLengthMax = 2_048;
/** Rows of one call, as the server scores. */
const chunkRows = 128;
const readTokens = 512;
const scoreTokens = 512;
const writeTokens = 64;
const writePromptTokens = 16;
/** A slow model is measured on fewer tokens: no measurement begins another chunk after this. */
const measureMsMax = 8_000;

interface Engine {
  readonly backend: Backend;
  readonly numerics: NumericsPlan;
  /** Put before every window of the text, where the model wants it. */
  readonly bos: readonly number[];
  readonly text: readonly number[];
}

process.once("message", (order) => {
  const reply = replyTo(order as MeasureOrder);
  process.send?.(reply, () => process.disconnect());
});

function replyTo(order: MeasureOrder): MeasureReply {
  try {
    return { measured: measure(order) };
  } catch (error) {
    return { failed: error instanceof Error ? error.message : String(error) };
  }
}

function measure(order: MeasureOrder): Measurement {
  const engine = openEngine(order);
  const text = engine.text.slice(0, textTokensMax);
  if (text.length < textTokensMin) {
    throw new Error(`The text has ${text.length} tokens; at least ${textTokensMin} are needed.`);
  }
  const short = { ...engine, text };
  warmUp(short);
  const read = readSpeed(short);
  const write = writeSpeed(short);
  const { speed: score, logprobs } = scoreText(short, order.wholeText);
  return {
    speeds: { read, write, score },
    logprobs: order.wholeText ? logprobs : [],
    tokensLeftOut: engine.text.length - text.length,
  };
}

function openEngine({ path, numerics: mode, threads, text }: MeasureOrder): Engine {
  const planned = planNumerics(mode, readGgufHeader(path).matrixTypes);
  const { repackWeights } = planned;
  const model = Model.load(openLibrary(), { path, repackWeights });
  const numerics = restrictNumerics(planned, model.facts);
  const contextLength = Math.min(contextLengthMax, model.facts.trainedContextLength);
  return {
    backend: new LlamaBackend({ model, contextLength, slots: 1, threads, numerics }),
    numerics,
    bos: tokenize(model, "", { addSpecial: true, parseSpecial: false }),
    text: tokenize(model, text, { addSpecial: false, parseSpecial: false }),
  };
}

/** Pages of the file come from the disk, and threads begin, outside of what is measured. */
function warmUp(engine: Engine): void {
  const { backend } = engine;
  backend.decode(rowsOf(cycled(engine.text, chunkRows, backend), 0, "last"));
  backend.trimSequence(0, 0);
}

function readSpeed({ backend, text }: Engine): number {
  const prompt = cycled(text, readTokens, backend);
  const startMs = performance.now();
  let done = 0;
  for (const [start, end] of chunks(prompt.length)) {
    backend.decode(
      rowsOf(prompt.slice(start, end), start, end === prompt.length ? "last" : "none"),
    );
    done = end;
    if (performance.now() - startMs > measureMsMax) break;
  }
  const speed = perSecond(done, performance.now() - startMs);
  backend.trimSequence(0, 0);
  return speed;
}

/** Goes on with the text itself: what is drawn would differ between the files. */
function writeSpeed({ backend, text, numerics }: Engine): number {
  const tokens = cycled(text, writePromptTokens + writeTokens, backend);
  const prompt = Math.min(writePromptTokens, tokens.length >> 1);
  backend.decode(rowsOf(tokens.slice(0, prompt), 0, "last"));
  const startMs = performance.now();
  let done = 0;
  for (const [offset, token] of tokens.slice(prompt).entries()) {
    const position = prompt + offset;
    const row: Row = { token, position, sequence: 0, logits: true };
    if (numerics.pairDecodeRows && position + 1 < backend.contextLength) {
      backend.decode([row, padding(row)]);
      backend.trimSequence(0, position + 1);
    } else {
      backend.decode([row]);
    }
    backend.logits(0);
    done += 1;
    if (performance.now() - startMs > measureMsMax) break;
  }
  const speed = perSecond(done, performance.now() - startMs);
  backend.trimSequence(0, 0);
  return speed;
}

/**
 * Scores the text in windows of the context. The speed comes from the beginning; without `whole`
 * the rest is left out.
 */
function scoreText(
  engine: Engine,
  whole: boolean,
): { readonly speed: number; readonly logprobs: readonly number[] } {
  const { backend, bos, text } = engine;
  const windowTokens = backend.contextLength - bos.length;
  const logprobs: number[] = [];
  let speed: number | undefined;
  let spentMs = 0;
  let rows = 0;
  for (let from = 0; from < text.length; from += windowTokens) {
    const window = [...bos, ...text.slice(from, from + windowTokens)];
    for (const [start, end] of chunks(window.length)) {
      const startMs = performance.now();
      backend.decode(rowsOf(window.slice(start, end), start, "all"));
      for (let place = start; place < Math.min(end, window.length - 1); place += 1) {
        const logits = backend.logits(place - start);
        logprobs.push(scoreToken(logits, window[place + 1] ?? 0, 0).logprob);
      }
      spentMs += performance.now() - startMs;
      rows += end - start;
      if (speed === undefined && (rows >= scoreTokens || spentMs > measureMsMax)) {
        speed = perSecond(rows, spentMs);
        if (!whole) return { speed, logprobs };
      }
    }
    backend.trimSequence(0, 0);
  }
  return { speed: speed ?? perSecond(rows, spentMs), logprobs };
}

function rowsOf(
  tokens: readonly number[],
  position: number,
  logits: "all" | "last" | "none",
): Row[] {
  return tokens.map((token, index) => ({
    token,
    position: position + index,
    sequence: 0,
    logits: logits === "all" || (logits === "last" && index === tokens.length - 1),
  }));
}

/** The text over and over, up to a length that the context holds. */
function cycled(text: readonly number[], length: number, backend: Backend): number[] {
  const size = Math.min(length, backend.contextLength);
  return Array.from({ length: size }, (_, index) => text[index % text.length] ?? 0);
}

/** Begin and end of each chunk; none but an only one has a lone row, which takes other kernels. */
function* chunks(length: number): Generator<readonly [start: number, end: number]> {
  let start = 0;
  while (start < length) {
    const left = length - start;
    const size = left - chunkRows === 1 ? chunkRows - 1 : Math.min(chunkRows, left);
    yield [start, start + size];
    start += size;
  }
}

function perSecond(tokens: number, elapsedMs: number): number {
  return (tokens / Math.max(elapsedMs, 1e-3)) * 1000;
}
