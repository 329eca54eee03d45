/**
 * The embedded engine on every kind of model it meets: float weights, quantised ones, a sliding
 * window, recurrent state. Whatever runs beside, whatever the cache holds: the same bytes.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { EngineEvent, Job } from "../../src/engine/engine.ts";
import { type EmbeddedEngine, startEmbeddedEngine } from "../../src/llama/embedded-engine.ts";
import type { CacheType } from "../../src/llama/llama-backend.ts";
import type { NumericsMode } from "../../src/llama/numerics.ts";
import { type TinyGgufOptions, tinyGgufFile } from "../../src/llama/testing/tiny-gguf.ts";
import { jobWith } from "../../src/scheduler/testing/scheduler-bench.ts";

interface Kind {
  readonly name: string;
  readonly file: TinyGgufOptions;
  readonly numerics: NumericsMode;
  /** Default f16. */
  readonly kvType?: CacheType;
}

const kinds: readonly Kind[] = [
  { name: "F32, reproducible", file: { variant: "plain" }, numerics: "reproducible" },
  { name: "F32, exact", file: { variant: "plain" }, numerics: "exact" },
  { name: "Q8_0, reproducible", file: { tensorType: "q8_0" }, numerics: "reproducible" },
  { name: "Q8_0, exact", file: { tensorType: "q8_0" }, numerics: "exact" },
  {
    name: "Q8_0 with q8_0 keys, reproducible",
    file: { tensorType: "q8_0" },
    numerics: "reproducible",
    kvType: "q8_0",
  },
  { name: "F32 with q8_0 keys, exact", file: {}, numerics: "exact", kvType: "q8_0" },
  { name: "sliding window", file: { variant: "gemma3" }, numerics: "reproducible" },
  { name: "recurrent", file: { variant: "mamba" }, numerics: "reproducible" },
];

const log = { debug() {}, info() {}, warn() {}, error() {} };

async function startEngine(
  { file, numerics, kvType = "f16" }: Kind,
  threads = 1,
): Promise<EmbeddedEngine> {
  return await startEmbeddedEngine({
    modelPath: tinyGgufFile(file),
    artifact: "tiny",
    contextLength: 512,
    slots: 4,
    threads,
    numerics,
    kvType,
    log,
  });
}

/** Text, logprobs and scores of a job; what the cache spared is no part of the answer. */
async function answer(engine: EmbeddedEngine, job: Job): Promise<string[]> {
  const events: EngineEvent[] = [];
  for await (const event of engine.run(job, new AbortController().signal)) events.push(event);
  const byCandidate = (event: EngineEvent) => ("candidate" in event ? event.candidate : -1);
  return events
    .toSorted((left, right) => byCandidate(left) - byCandidate(right))
    .map((event) =>
      JSON.stringify(event.kind === "prompt" ? { ...event, cachedTokens: 0 } : event),
    );
}

const stem = Array.from({ length: 70 }, (_, index) => 20 + ((index * 37) % 400));
const jobs: readonly Job[] = [
  jobWith({ prompt: stem, candidates: 3, maxTokens: 12 }),
  jobWith({ prompt: stem, candidates: 1, maxTokens: 20 }),
  jobWith({ prompt: [...stem.slice(0, 50), 300, 301, 302], maxTokens: 1, scoreFrom: 1 }),
  jobWith({ prompt: [...stem.slice(0, 50), 310, 311], maxTokens: 1, scoreFrom: 1 }),
  jobWith({ prompt: stem.slice(10, 40), candidates: 6, maxTokens: 9 }),
  jobWith({ prompt: [25], maxTokens: 15 }),
  jobWith({ prompt: [...stem, ...stem, ...stem], maxTokens: 5, scoreFrom: 1 }),
];

describe.each(kinds)("$name", (kind) => {
  let engine: EmbeddedEngine;
  const alone: string[][] = [];

  beforeAll(async () => {
    // Each job with an engine of its own would take long: a prompt of another owner spares nothing.
    engine = await startEngine(kind);
    for (const [index, job] of jobs.entries()) {
      const caller = { owner: `alone ${index}`, request: "", priority: "interactive" } as const;
      alone.push(await answer(engine, { ...job, caller }));
    }
  });

  afterAll(async () => {
    await engine?.close();
  });

  test("all at once give what each gives alone", async () => {
    const together = await Promise.all(jobs.map((job) => answer(engine, job)));
    expect(together).toEqual(alone);
  });

  test("after hits of the prefix cache, in any order, too", async () => {
    for (const index of [1, 3, 2, 0, 6, 4, 2, 5, 1]) {
      expect(await answer(engine, jobs[index] as Job)).toEqual(alone[index]);
    }
  });
});

// Two threads that wait for each other spin: a few short jobs are enough.
test.each(["f32", "q8_0"] as const)(
  "one thread or two make no difference, %s",
  async (tensorType) => {
    const kind = { name: "", file: { tensorType }, numerics: "reproducible" } as const;
    const answers: string[][][] = [];
    for (const threads of [1, 2]) {
      const engine = await startEngine(kind, threads);
      try {
        answers.push([await answer(engine, jobs[1] as Job), await answer(engine, jobs[2] as Job)]);
      } finally {
        await engine.close();
      }
    }
    expect(answers[1]).toEqual(answers[0]);
  },
);

describe("exact", () => {
  test.each(["f32", "q8_0"] as const)("generating equals scoring to the bit, %s", async (type) => {
    const engine = await startEngine({ name: "", file: { tensorType: type }, numerics: "exact" });
    try {
      for (let seed = 0; seed < 10; seed++) {
        const prompt = stem.slice(seed, seed + 5 + 3 * seed);
        const sampling = { ...jobWith().sampling, seed };
        const job = jobWith({ prompt, maxTokens: 30, sampling, topLogprobs: 3 });
        const tokens = [];
        for await (const event of engine.run(job, new AbortController().signal)) {
          if (event.kind === "text") tokens.push(...event.tokens);
        }
        const whole = [...prompt, ...tokens.map(({ token }) => token)];
        const scoring = jobWith({
          prompt: whole,
          maxTokens: 0,
          scoreFrom: prompt.length,
          topLogprobs: 3,
          caller: { owner: "scorer", request: "", priority: "interactive" },
        });
        for await (const event of engine.run(scoring, new AbortController().signal)) {
          if (event.kind !== "prompt") continue;
          expect(event.scores).toEqual(tokens.map(({ score }) => score));
        }
      }
    } finally {
      await engine.close();
    }
  });
});
