/**
 * The scheduler against a reference that knows neither slots nor caches: whatever the schedule, the
 * hits and the cancellations, each job gives what it gives alone.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Job } from "../engine/engine.ts";
import { commonPrefix } from "./slot.ts";
import {
  type BenchOptions,
  bench,
  bytesPerToken,
  cachedTokens,
  comparable,
  expectedEvents,
  jobWith,
  vocabularySize,
} from "./testing/scheduler-bench.ts";

const anyToken = fc.nat(vocabularySize - 1);
/** Prompts that share beginnings: a few stems, cut anywhere, with endings of their own. */
const stems = [7, 8, 9].map((seed) => Array.from({ length: 90 }, (_, i) => (i * seed) % 50));
const anyPrompt = fc
  .tuple(fc.nat(2), fc.nat(90), fc.array(anyToken, { maxLength: 6 }))
  .map(([stem, length, ending]) => [...(stems[stem] ?? []).slice(0, length), ...ending])
  .filter((prompt) => prompt.length > 0);

const anyJob: fc.Arbitrary<Job> = fc
  .record({
    prompt: anyPrompt,
    candidates: fc.integer({ min: 1, max: 6 }),
    maxTokens: fc.constantFrom(0, 1, 1, 2, 5, 12),
    seed: fc.nat(1000),
    temperature: fc.constantFrom(0, 1),
    scoreFrom: fc.constantFrom(undefined, undefined, 1, 1, 5),
    topLogprobs: fc.constantFrom(undefined, 0, 1, 3),
    owner: fc.constantFrom("a", "a", "b"),
    request: fc.constantFrom("r1", "r2", "r3"),
    priority: fc.constantFrom("interactive" as const, "batch" as const),
  })
  .map(({ seed, temperature, owner, request, priority, ...rest }) => {
    const sampling = { ...jobWith().sampling, seed, temperature };
    return jobWith({ ...rest, sampling, caller: { owner, request, priority } });
  });

interface Arrival {
  readonly job: Job;
  /** Steps before it is submitted. */
  readonly delay: number;
  /** Steps after which it is aborted; undefined: never. */
  readonly abortAfter: number | undefined;
}

const anyArrival: fc.Arbitrary<Arrival> = fc.record({
  job: anyJob,
  delay: fc.constantFrom(0, 0, 0, 1, 3, 20),
  abortAfter: fc.constantFrom(undefined, undefined, undefined, 0, 2, 9),
});

const plan = fc.record({
  arrivals: fc.array(anyArrival, { minLength: 1, maxLength: 10 }),
  sequences: fc.integer({ min: 1, max: 5 }),
  rowsMax: fc.integer({ min: 12, max: 64 }),
  idleTokens: fc.constantFrom(0, 60, 100_000),
});

type Plan = typeof plan extends fc.Arbitrary<infer P> ? P : never;

function check({ arrivals, sequences, rowsMax, idleTokens }: Plan, options: BenchOptions): void {
  const idleBytesMax = idleTokens * bytesPerToken;
  const { scheduler, backend, events, ended, run } = bench({
    ...options,
    sequences,
    rowsMax,
    idleBytesMax,
  });
  const seenAtAbort = new Map<number, number>();
  for (const [id, { job, delay, abortAfter }] of arrivals.entries()) {
    for (let step = 0; step < delay; step++) scheduler.step();
    scheduler.submit(id, job);
    if (abortAfter === undefined) continue;
    for (let step = 0; step < abortAfter; step++) scheduler.step();
    if (!ended.includes(id)) seenAtAbort.set(id, events.get(id)?.length ?? 0);
    scheduler.abort(id);
  }
  run();
  const loneRowsDiffer = (options.loneRowsDiffer ?? true) && options.padRows !== true;
  for (const [id, { job }] of arrivals.entries()) {
    const seen = events.get(id) ?? [];
    const atAbort = seenAtAbort.get(id);
    if (atAbort !== undefined) expect(seen.length).toBe(atAbort);
    else {
      expect(comparable(seen)).toEqual(comparable(expectedEvents(job, loneRowsDiffer)));
      checkHits(id, arrivals, cachedTokens(seen) ?? 0);
    }
  }
  const finished = [...arrivals.keys()].filter((id) => !seenAtAbort.has(id));
  expect(ended.toSorted((left, right) => left - right)).toEqual(finished);
  expect(scheduler.busySlots).toBe(0);
  const held = backend.contents.reduce((sum, content) => sum + content.length, 0);
  expect(held).toBeLessThanOrEqual(Math.max(idleTokens, 0));
}

/** A prompt can only have been spared what an earlier job of the same owner began with. */
function checkHits(id: number, arrivals: readonly Arrival[], cached: number): void {
  const { job } = arrivals[id] as Arrival;
  const others = arrivals
    .filter((arrival, other) => other !== id && arrival.job.caller?.owner === job.caller?.owner)
    .map((arrival) => commonPrefix(arrival.job.prompt, job.prompt));
  const spared = Math.max(0, ...others);
  // Generated tokens may go on with the prompt where they may be used again.
  if (cached > spared) expect(cached).toBeLessThanOrEqual(spared + 12);
}

describe("each job gives what it gives alone", () => {
  test("reproducible: lone rows differ, only prompts are used again", () => {
    fc.assert(
      fc.property(plan, (p) => check(p, {})),
      { numRuns: 600 },
    );
  });

  test("exact: rows are padded, everything is used again", () => {
    fc.assert(
      fc.property(plan, (p) => check(p, { padRows: true })),
      { numRuns: 600 },
    );
  });

  test("fast: rows do not differ, everything is used again", () => {
    const options = { loneRowsDiffer: false, reuseGenerated: true };
    fc.assert(
      fc.property(plan, (p) => check(p, options)),
      { numRuns: 600 },
    );
  });

  test("models whose sequences cannot be cut", () => {
    const options = { cutsAnywhere: false };
    fc.assert(
      fc.property(plan, (p) => check(p, options)),
      { numRuns: 600 },
    );
  });
});
