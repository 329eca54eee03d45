/**
 * The yardstick: a loop that does nothing but evaluate one row and take the likeliest token, on the
 * same model with the same flags. Started as a process of its own by the bench.
 *
 *   node bench/bare-decode.ts MODEL THREADS PROMPT_TOKENS TOKENS   -> JSON on stdout
 */

import { readGgufHeader } from "../src/llama/gguf-header.ts";
import { openLibrary } from "../src/llama/library.ts";
import { LlamaBackend } from "../src/llama/llama-backend.ts";
import { Model } from "../src/llama/model.ts";
import { planNumerics } from "../src/llama/numerics.ts";

const [modelPath = "", threads = "1", promptTokens = "16", tokens = "128"] = process.argv.slice(2);
const numerics = planNumerics("reproducible", readGgufHeader(modelPath).matrixTypes);
const model = Model.load(openLibrary({ silent: true }), {
  path: modelPath,
  repackWeights: numerics.repackWeights,
});
const backend = new LlamaBackend({
  model,
  contextLength: 4096,
  slots: 8,
  threads: Number(threads),
  numerics,
});
const sequence = 0;
const prompt = Array.from({ length: Number(promptTokens) }, (_, index) => 100 + index);
backend.decode(
  prompt.map((token, position) => ({
    token,
    position,
    sequence,
    logits: position === prompt.length - 1,
  })),
);
let token = likeliest(backend.logits(prompt.length - 1));
const row = { token, position: prompt.length, sequence, logits: true };
const startMs = performance.now();
for (let count = 0; count < Number(tokens); count++) {
  row.token = token;
  backend.decode([row]);
  token = likeliest(backend.logits(0));
  row.position += 1;
}
const elapsedMs = performance.now() - startMs;
console.log(JSON.stringify({ tokensPerSecond: (Number(tokens) / elapsedMs) * 1000 }));
backend.close();
model.free();

function likeliest(logits: Float32Array): number {
  let best = 0;
  for (let token = 1; token < logits.length; token++) {
    if ((logits[token] as number) > (logits[best] as number)) best = token;
  }
  return best;
}
