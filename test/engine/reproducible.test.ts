/**
 * What `reproducible` and `exact` promise, on the default model: the same bytes of text and logprobs
 * whatever runs beside; in `exact`, generating and scoring agree to the bit.
 */
import { homedir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { EngineEvent, Job } from "../../src/engine/engine.ts";
import { type EmbeddedEngine, startEmbeddedEngine } from "../../src/llama/embedded-engine.ts";
import type { NumericsMode } from "../../src/llama/numerics.ts";
import { ensureDefaultModel } from "../../src/models/served-model.ts";
import { jobWith } from "../../src/scheduler/testing/scheduler-bench.ts";

const log = { debug() {}, info() {}, warn() {}, error() {} };
const cache = process.env.COMPLETIONIST_CACHE ?? join(homedir(), ".cache", "completionist");

async function startEngine(numerics: NumericsMode, threads: number): Promise<EmbeddedEngine> {
  const { path, artifact } = await ensureDefaultModel({ cache });
  const shape = { contextLength: 1024, slots: 16, threads };
  const options = { modelPath: path, artifact, numerics, kvType: "f16", log, ...shape } as const;
  return await startEmbeddedEngine(options);
}

async function events(engine: EmbeddedEngine, job: Job): Promise<EngineEvent[]> {
  const all: EngineEvent[] = [];
  for await (const event of engine.run(job, new AbortController().signal)) all.push(event);
  return all;
}

/** Everything but what the cache spared. */
async function answer(engine: EmbeddedEngine, job: Job): Promise<EngineEvent[]> {
  return (await events(engine, job)).map((event) =>
    event.kind === "prompt" ? { ...event, cachedTokens: 0 } : event,
  );
}

const tokens = (length: number, first: number) =>
  Array.from({ length }, (_, index) => 500 + ((first + index * 7919) % 40_000));

const job = jobWith({ prompt: tokens(70, 1), maxTokens: 24, topLogprobs: 3, scoreFrom: 1 });

/** Neighbours of all kinds: short and long prompts, one candidate and several, scored and not. */
function neighbour(index: number): Job {
  const sampling = { ...jobWith().sampling, seed: 100 + index };
  const prompt = tokens(5 + 13 * index, 1000 * (index + 1));
  const scoreFrom = index % 3 === 0 ? 1 : undefined;
  return jobWith({
    prompt,
    maxTokens: 10 + index,
    sampling,
    scoreFrom,
    candidates: 1 + (index % 2),
  });
}

describe("reproducible", () => {
  let engine: EmbeddedEngine;
  let alone: EngineEvent[];

  beforeAll(async () => {
    engine = await startEngine("reproducible", 1);
    alone = await answer(engine, job);
  });

  afterAll(async () => {
    await engine?.close();
  });

  test.each([1, 7, 15])("the same bytes beside %i neighbours", async (count) => {
    // Of another owner, so that nothing comes from the cache.
    const caller = { owner: `beside ${count}`, request: "", priority: "interactive" } as const;
    const others = Array.from({ length: count }, (_, index) => events(engine, neighbour(index)));
    const [beside] = await Promise.all([answer(engine, { ...job, caller }), ...others]);
    expect(beside).toEqual(alone);
  });

  test("the same bytes after a prefix hit, whole and in part", async () => {
    expect(await answer(engine, job)).toEqual(alone);
    await events(engine, { ...job, prompt: [...job.prompt.slice(0, 40), ...tokens(9, 77)] });
    expect(await answer(engine, job)).toEqual(alone);
  });

  test("the same bytes in another slot", async () => {
    const stop = new AbortController();
    const long = jobWith({ prompt: tokens(8, 5), maxTokens: 900, candidates: 3 });
    const running = engine.run(long, stop.signal);
    await running.next();
    const caller = { owner: "elsewhere", request: "", priority: "interactive" } as const;
    expect(await answer(engine, { ...job, caller })).toEqual(alone);
    stop.abort();
    await running.return(undefined);
  });

  test("the same bytes with two threads", async () => {
    const two = await startEngine("reproducible", 2);
    try {
      const short = { ...job, maxTokens: 4 };
      expect(await answer(two, short)).toEqual(await answer(engine, short));
    } finally {
      await two.close();
    }
  });
});

test("exact: generating equals scoring to the bit over 50 prompts", async () => {
  const engine = await startEngine("exact", 1);
  try {
    let compared = 0;
    for (let index = 0; index < 50; index++) {
      const prompt = tokens(2 + (index % 25), index);
      const sampling = { ...jobWith().sampling, seed: index };
      const generated = (await events(engine, jobWith({ prompt, sampling, maxTokens: 6 }))).flatMap(
        (event) => (event.kind === "text" ? event.tokens : []),
      );
      const caller = { owner: "scorer", request: "", priority: "interactive" } as const;
      const whole = [...prompt, ...generated.map(({ token }) => token)];
      const scoring = jobWith({ prompt: whole, maxTokens: 0, scoreFrom: prompt.length, caller });
      const scores = (await events(engine, scoring)).flatMap((event) =>
        event.kind === "prompt" ? event.scores : [],
      );
      expect(scores).toEqual(generated.map(({ score }) => score));
      compared += scores.length;
    }
    expect(compared).toBeGreaterThan(200);
  } finally {
    await engine.close();
  }
});
