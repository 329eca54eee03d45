/**
 * The yardstick: loops that do nothing but call the library, on the same model with the same flags
 * as the engine. A process of its own, started by the bench:
 *
 *   bare-loop MODEL decode|score|read NUMERICS THREADS TOKENS   -> JSON on stdout
 *
 * decode: one row after the other, the likeliest token next. score: a prompt in chunks of 128 with
 * the logits of all rows. read: a prompt in chunks of 512 with the logits of its last row.
 */
import { readGgufHeader } from "../llama/gguf-header.ts";
import { openLibrary } from "../llama/library.ts";
import { LlamaBackend } from "../llama/llama-backend.ts";
import { Model } from "../llama/model.ts";
import { type NumericsMode, planNumerics } from "../llama/numerics.ts";

const [path = "", work = "decode", mode = "reproducible", threads = "1", count = "128"] =
  process.argv.slice(2);
const tokens = Number(count);
const sequence = 0;
/** Tokens in front of those that are generated. */
const promptLength = 16;
/** Ids that words have in most vocabularies; small vocabularies have fewer. */
const firstId = 100;
const idsMax = 40_000;
const backend = openBackend();
const elapsedMs =
  work === "decode" ? decode() : read(work === "score" ? 128 : 512, work === "score");
console.log(JSON.stringify({ tokensPerSecond: (tokens / elapsedMs) * 1000 }));

function openBackend(): LlamaBackend {
  const numerics = planNumerics(mode as NumericsMode, readGgufHeader(path).matrixTypes);
  const { repackWeights } = numerics;
  const model = Model.load(openLibrary({ silent: true }), { path, repackWeights });
  const shape = { contextLength: tokens + promptLength, slots: 8, threads: Number(threads) };
  return new LlamaBackend({ model, numerics, ...shape });
}

function decode(): number {
  const row = { token: firstId, position: 0, sequence, logits: true };
  for (; row.position < promptLength; row.position++) {
    backend.decode([{ ...row, token: someToken(row.position) }]);
  }
  const startMs = performance.now();
  for (let step = 0; step < tokens; step++) {
    row.token = likeliest(backend.logits(0));
    backend.decode([row]);
    row.position += 1;
  }
  return performance.now() - startMs;
}

function read(chunk: number, allLogits: boolean): number {
  const startMs = performance.now();
  for (let start = 0; start < tokens; start += chunk) {
    const length = Math.min(chunk, tokens - start);
    backend.decode(
      Array.from({ length }, (_, index) => {
        const position = start + index;
        const logits = allLogits || position === tokens - 1;
        return { token: someToken(position), position, sequence, logits };
      }),
    );
  }
  return performance.now() - startMs;
}

function someToken(position: number): number {
  const ids = Math.min(idsMax, backend.vocabularySize - firstId);
  return firstId + ((position * 7919) % ids);
}

function likeliest(logits: Float32Array): number {
  let best = 0;
  for (let token = 1; token < logits.length; token++) {
    if ((logits[token] as number) > (logits[best] as number)) best = token;
  }
  return best;
}
