/**
 * What choosing a token costs, on rows like a model's: microseconds for each way, the fastest of
 * several passes.   node bench/kernels.ts [VOCABULARY]
 */
import { Sampler, type SamplerParameters } from "../src/sampling/sampler.ts";
import { scoreToken } from "../src/sampling/score.ts";

const size = Number(process.argv[2] ?? 49_152);
const passes = 30;
const rows = Array.from({ length: 16 }, (_, seed) => modelLikeRow(size, seed));

const plain: SamplerParameters = {
  temperature: 1,
  topP: 1,
  topK: 0,
  minP: 0,
  frequencyPenalty: 0,
  presencePenalty: 0,
  repetitionPenalty: 1,
  logitBias: [],
  seed: 1,
};

const ways: Readonly<Record<string, (row: Float32Array) => unknown>> = {
  greedy: sampling({ temperature: 0 }),
  "temperature 1": sampling({}),
  "temperature 0.8": sampling({ temperature: 0.8 }),
  "top_p 0.95": sampling({ topP: 0.95 }),
  "top_k 40": sampling({ topK: 40 }),
  "min_p 0.05": sampling({ minP: 0.05 }),
  score: (row) => scoreToken(row, 17, 0),
  "score, top 5": (row) => scoreToken(row, 17, 5),
  "top_p 0.95 and score, top 5": both(sampling({ topP: 0.95 })),
};

console.log(`| way | microseconds a row of ${size} |\n| --- | ---: |`);
for (const [name, way] of Object.entries(ways)) {
  let fastestMs = Number.POSITIVE_INFINITY;
  for (let pass = 0; pass < passes; pass++) {
    const startMs = performance.now();
    for (const row of rows) way(row);
    fastestMs = Math.min(fastestMs, performance.now() - startMs);
  }
  console.log(`| ${name} | ${((fastestMs / rows.length) * 1000).toFixed(0)} |`);
}

function sampling(parameters: Partial<SamplerParameters>): (row: Float32Array) => number {
  const sampler = new Sampler({ ...plain, ...parameters }, [], 0);
  return (row) => sampler.sample(row, []);
}

function both(sample: (row: Float32Array) => number): (row: Float32Array) => unknown {
  return (row) => scoreToken(row, sample(row), 5);
}

/** Few likely tokens, many unlikely ones: sums of sines make a bell, the square roots a tail. */
function modelLikeRow(length: number, seed: number): Float32Array {
  return Float32Array.from({ length }, (_, token) => {
    const wave = Math.sin(token * 12.9898 + seed) + Math.sin(token * 78.233 + seed * 3);
    const peak = token % 997 === seed ? 8 : 0;
    return 3 * wave + peak;
  });
}
