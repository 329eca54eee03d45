/**
 * The yardstick: loops that do nothing but call the library, on the same model with the same flags
 * as the engine. A process of its own, started by the bench.
 *
 *   node bench/bare-loop.ts MODEL decode|score|read NUMERICS THREADS TOKENS   -> JSON on stdout
 *
 * decode: one row after the other, the likeliest token next. score: a prompt in chunks of 128 with
 * the logits of all rows. read: a prompt in chunks of 512 with the logits of its last row.
 */
import { readGgufHeader } from "../src/llama/gguf-header.ts";
import { openLibrary } from "../src/llama/library.ts";
import { LlamaBackend } from "../src/llama/llama-backend.ts";
import { Model } from "../src/llama/model.ts";
import { type NumericsMode, planNumerics } from "../src/llama/numerics.ts";

const [path = "", work = "decode", mode = "reproducible", threads = "1", count = "128"] =
  process.argv.slice(2);
const tokens = Number(count);
const sequence = 0;
const backend = openBackend();
const elapsedMs =
  work === "decode" ? decode() : read(work === "score" ? 128 : 512, work === "score");
console.log(JSON.stringify({ tokensPerSecond: (tokens / elapsedMs) * 1000 }));

function openBackend(): LlamaBackend {
  const numerics = planNumerics(mode as NumericsMode, readGgufHeader(path).matrixTypes);
  const { repackWeights } = numerics;
  const model = Model.load(openLibrary({ silent: true }), { path, repackWeights });
  const shape = { contextLength: 4096, slots: 8, threads: Number(threads) };
  return new LlamaBackend({ model, numerics, ...shape });
}

function decode(): number {
  const row = { token: 100, position: 0, sequence, logits: true };
  for (; row.position < 16; row.position++) backend.decode([{ ...row, token: 100 + row.position }]);
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
        return { token: 100 + ((position * 7919) % 40_000), position, sequence, logits };
      }),
    );
  }
  return performance.now() - startMs;
}

function likeliest(logits: Float32Array): number {
  let best = 0;
  for (let token = 1; token < logits.length; token++) {
    if ((logits[token] as number) > (logits[best] as number)) best = token;
  }
  return best;
}
