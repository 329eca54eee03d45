import { expect, test } from "vitest";
import { bench, greedy, jobWith } from "./testing/scheduler-bench.ts";

const prompt = Array.from({ length: 40 }, (_, index) => index);

test("a repeated prompt is counted as cached where it was computed before", () => {
  const { scheduler, run } = bench({ sequences: 2 });
  scheduler.submit(1, jobWith({ prompt, maxTokens: 1 }));
  run();
  expect(scheduler.counts).toMatchObject({ readTokens: 40, cachedTokens: 0 });
  scheduler.submit(2, jobWith({ prompt, maxTokens: 1 }));
  run();
  const { readTokens, cachedTokens } = scheduler.counts;
  expect(cachedTokens).toBeGreaterThan(0);
  expect(readTokens + cachedTokens).toBe(80);
});

test("held tokens are those of all sequences, idle ones those that no job uses", () => {
  const { scheduler, backend, run } = bench({ sequences: 2 });
  const inBackend = () => backend.contents.reduce((sum, content) => sum + content.length, 0);
  expect(scheduler.heldTokens).toEqual({ all: 0, idle: 0 });
  scheduler.submit(1, jobWith({ prompt, maxTokens: 20, sampling: greedy() }));
  scheduler.step();
  expect(inBackend()).toBeGreaterThan(0);
  expect(scheduler.heldTokens).toEqual({ all: inBackend(), idle: 0 });
  run();
  expect(inBackend()).toBeGreaterThan(0);
  expect(scheduler.heldTokens).toEqual({ all: inBackend(), idle: inBackend() });
});

test("running candidates are those that have begun and not ended", () => {
  const { scheduler, run } = bench({ sequences: 2 });
  scheduler.submit(1, jobWith({ prompt, maxTokens: 20, candidates: 5, sampling: greedy() }));
  expect([scheduler.queuedJobs, scheduler.runningCandidates]).toEqual([1, 0]);
  while (scheduler.runningCandidates === 0) scheduler.step();
  scheduler.step();
  expect([scheduler.queuedJobs, scheduler.runningCandidates]).toEqual([0, 2]);
  run();
  expect(scheduler.runningCandidates).toBe(0);
});
