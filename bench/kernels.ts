/**
 * What choosing a token costs, on rows of a model after texts of all kinds, beside a step of 16
 * sequences: microseconds for each way, the fastest of several passes.
 *
 *   node bench/kernels.ts [MODEL]   (the default model)
 */
import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { readGgufHeader } from "../src/llama/gguf-header.ts";
import { openLibrary } from "../src/llama/library.ts";
import { LlamaBackend } from "../src/llama/llama-backend.ts";
import { Model } from "../src/llama/model.ts";
import { planNumerics } from "../src/llama/numerics.ts";
import { tokenize } from "../src/llama/tokenizer.ts";
import { ensureDefaultModel } from "../src/models/served-model.ts";
import { Sampler, type SamplerParameters } from "../src/sampling/sampler.ts";
import { scoreToken } from "../src/sampling/score.ts";
import { plainSampling } from "../src/sampling/testing/plain-sampling.ts";

const passes = 30;
const sequences = 16;
const prompts = new URL("../test/truth/prompts.json", import.meta.url);
const cache = process.env.COMPLETIONIST_CACHE ?? join(homedir(), ".cache", "completionist");
const path = process.argv[2] ?? (await ensureDefaultModel({ cache })).path;
const { rows, stepMs } = rowsOfModel();

const ways: Readonly<Record<string, (row: Float32Array) => unknown>> = {
  greedy: sampling({ temperature: 0 }),
  "temperature 1": sampling({}),
  "temperature 0.8": sampling({ temperature: 0.8 }),
  "top_p 0.95": sampling({ topP: 0.95 }),
  "top_k 40": sampling({ topK: 40 }),
  "min_p 0.05": sampling({ minP: 0.05 }),
  score: (row) => scoreToken(row, 17, 0),
  "score, top 5": (row) => scoreToken(row, 17, 5),
  "temperature 1 and score, top 5": both({}),
  "top_p 0.95 and score, top 5": both({ topP: 0.95 }),
  "temperature 0.8, top_p 0.95 and score, top 5": both({ temperature: 0.8, topP: 0.95 }),
};

const size = rows[0]?.length ?? 0;
console.log(`A step of ${sequences} sequences takes ${stepMs.toFixed(1)} ms.\n`);
console.log(`| way | microseconds a row of ${size} | ${sequences} rows of a step |`);
console.log("| --- | ---: | ---: |");
for (const [name, way] of Object.entries(ways)) {
  let fastestMs = Number.POSITIVE_INFINITY;
  for (let pass = 0; pass < passes; pass++) {
    const startMs = performance.now();
    for (const row of rows) way(row);
    fastestMs = Math.min(fastestMs, performance.now() - startMs);
  }
  const share = ((fastestMs / rows.length) * sequences * 100) / stepMs;
  const microseconds = ((fastestMs / rows.length) * 1000).toFixed(0);
  console.log(`| ${name} | ${microseconds} | ${share.toFixed(1)} % |`);
}

function sampling(parameters: Partial<SamplerParameters>): (row: Float32Array) => number {
  const sampler = new Sampler({ ...plainSampling, ...parameters }, [], 0);
  return (row) => sampler.sample(row, []);
}

function both(parameters: Partial<SamplerParameters>): (row: Float32Array) => unknown {
  const sampler = new Sampler({ ...plainSampling, ...parameters }, [], 0);
  return (row) => {
    const token = sampler.sample(row, []);
    return scoreToken(row, token, 5, sampler.rawSum);
  };
}

/** Logits after 16 texts, and what a step of as many sequences takes at its fastest. */
function rowsOfModel(): { rows: Float32Array[]; stepMs: number } {
  const numerics = planNumerics("reproducible", readGgufHeader(path).matrixTypes);
  const { repackWeights } = numerics;
  const model = Model.load(openLibrary({ silent: true }), { path, repackWeights });
  const shape = { contextLength: 256, slots: sequences, threads: 1 };
  const backend = new LlamaBackend({ model, numerics, ...shape });
  const texts = JSON.parse(readFileSync(prompts, "utf8")) as { text: string }[];
  const all: Float32Array[] = [];
  let stepMs = Number.POSITIVE_INFINITY;
  for (let sequence = 0; sequence < sequences; sequence++) {
    const tokens = tokenize(model, texts[sequence]?.text ?? "", {
      addSpecial: true,
      parseSpecial: false,
    });
    const last = tokens.length - 1;
    backend.decode(
      tokens.map((token, position) => ({ token, position, sequence, logits: position === last })),
    );
    all.push(Float32Array.from(backend.logits(last)));
    backend.trimSequence(sequence, 0);
  }
  for (let position = 0; position < 20; position++) {
    const startMs = performance.now();
    backend.decode(
      Array.from({ length: sequences }, (_, sequence) => {
        return { token: 500 + sequence * 977, position, sequence, logits: true };
      }),
    );
    stepMs = Math.min(stepMs, performance.now() - startMs);
  }
  backend.close();
  model.free();
  return { rows: all, stepMs };
}
