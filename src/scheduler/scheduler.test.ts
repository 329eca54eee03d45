import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ApiError } from "../contract/errors.ts";
import { Candidate } from "../engine/candidate.ts";
import type { EngineEvent, Job } from "../engine/engine.ts";
import { testVocabulary } from "../engine/testing/vocabulary.ts";
import { scoreToken } from "../sampling/score.ts";
import { queuedJobsMax, Scheduler } from "./scheduler.ts";
import { FakeBackend, type FakeBackendOptions, fakeLogits } from "./testing/fake-backend.ts";

const vocabulary = testVocabulary();
const vocabularySize = vocabulary.size;

function jobWith(overrides: Partial<Job> = {}): Job {
  return {
    prompt: [1, 2, 3],
    candidates: 1,
    maxTokens: 5,
    sampling: {
      temperature: 1,
      topP: 1,
      topK: 0,
      minP: 0,
      frequencyPenalty: 0,
      presencePenalty: 0,
      repetitionPenalty: 1,
      logitBias: [],
      seed: 7,
    },
    stop: { strings: [], tokens: [], includeStringInText: false, ignoreEos: false, minTokens: 0 },
    topLogprobs: 2,
    tokenLogprobs: true,
    scoreFrom: undefined,
    skipSpecialTokens: true,
    ...overrides,
  };
}

interface Bench {
  readonly scheduler: Scheduler;
  readonly backend: FakeBackend;
  readonly events: Map<number, EngineEvent[]>;
  readonly ended: number[];
  run(): void;
}

function bench(options: FakeBackendOptions & { padRows?: boolean } = {}): Bench {
  const backend = new FakeBackend({ vocabularySize, ...options });
  const events = new Map<number, EngineEvent[]>();
  const ended: number[] = [];
  let clockMs = 0;
  const scheduler = new Scheduler({
    backend,
    vocabulary,
    padRows: options.padRows ?? false,
    nowMs: () => (clockMs += 1),
    onEvent: (id, event) => {
      events.set(id, [...(events.get(id) ?? []), event]);
    },
    onEnded: (id) => ended.push(id),
  });
  const run = () => {
    for (let steps = 0; !scheduler.idle; steps++) {
      if (steps > 100_000) throw new Error("the scheduler does not come to an end");
      scheduler.step();
    }
  };
  return { scheduler, backend, events, ended, run };
}

/** What a job must give, computed without a scheduler: one candidate after the other. */
function expectedEvents(job: Job): EngineEvent[] {
  const scores = [];
  for (let index = job.scoreFrom ?? job.prompt.length; index < job.prompt.length; index++) {
    const logits = fakeLogits(job.prompt.slice(0, index), vocabularySize);
    scores.push(scoreToken(logits, job.prompt[index] as number, job.topLogprobs ?? 0));
  }
  const events: EngineEvent[] = [{ kind: "admitted" }, { kind: "prompt", cachedTokens: 0, scores }];
  for (let index = 0; index < job.candidates; index++) {
    const candidate = new Candidate({ job, index, vocabulary });
    const context = [...job.prompt];
    const emit = (event: EngineEvent) => events.push(event);
    for (let going = candidate.start(emit); going; ) {
      const next = candidate.accept(fakeLogits(context, vocabularySize), emit);
      if (next === undefined) going = false;
      else context.push(next);
    }
  }
  return events;
}

/** Candidates interleave; what counts is the order within each. */
function byCandidate(events: readonly EngineEvent[]): EngineEvent[] {
  const number = (event: EngineEvent) => ("candidate" in event ? event.candidate : -1);
  return events.toSorted((left, right) => number(left) - number(right));
}

const anyJob = fc
  .record({
    prompt: fc.array(fc.nat(vocabularySize - 1), { minLength: 1, maxLength: 60 }),
    candidates: fc.integer({ min: 1, max: 7 }),
    maxTokens: fc.nat(12),
    seed: fc.nat(),
    temperature: fc.constantFrom(0, 1),
    scored: fc.boolean(),
  })
  .map(({ seed, temperature, scored, ...rest }) => {
    const base = jobWith();
    const sampling = { ...base.sampling, seed, temperature };
    return jobWith({ ...rest, sampling, scoreFrom: scored ? 1 : undefined });
  });

describe("answers do not depend on the schedule", () => {
  test.each([false, true])("random jobs at random times, rows padded: %s", (padRows) => {
    const plan = fc.record({
      jobs: fc.array(fc.tuple(anyJob, fc.nat(20)), { minLength: 1, maxLength: 8 }),
      sequences: fc.integer({ min: 1, max: 5 }),
      rowsMax: fc.integer({ min: 10, max: 64 }),
    });
    fc.assert(
      fc.property(plan, ({ jobs, sequences, rowsMax }) => {
        const { scheduler, backend, events, ended, run } = bench({ sequences, rowsMax, padRows });
        for (const [id, [job, stepsBefore]] of jobs.entries()) {
          for (let step = 0; step < stepsBefore; step++) scheduler.step();
          scheduler.submit(id, job);
        }
        run();
        for (const [id, [job]] of jobs.entries()) {
          expect(byCandidate(events.get(id) ?? [])).toEqual(expectedEvents(job));
        }
        expect(ended.toSorted((left, right) => left - right)).toEqual([...jobs.keys()]);
        expect(scheduler.slotsTaken).toBe(0);
        expect(backend.calls.every((rows) => rows.length <= rowsMax)).toBe(true);
      }),
      { numRuns: 150 },
    );
  });

  test("jobs that are aborted at random leave the others untouched and free their slots", () => {
    const plan = fc.array(fc.tuple(anyJob, fc.nat(15), fc.boolean()), {
      minLength: 2,
      maxLength: 8,
    });
    fc.assert(
      fc.property(plan, (jobs) => {
        const { scheduler, events, run } = bench({ sequences: 3 });
        for (const [id, [job]] of jobs.entries()) scheduler.submit(id, job);
        const counts = new Map<number, number>();
        for (const [id, [, steps, aborted]] of jobs.entries()) {
          for (let step = 0; step < steps; step++) scheduler.step();
          if (!aborted) continue;
          scheduler.abort(id);
          counts.set(id, events.get(id)?.length ?? 0);
        }
        run();
        for (const [id, [job, , aborted]] of jobs.entries()) {
          const seen = events.get(id) ?? [];
          if (aborted) expect(seen.length).toBe(counts.get(id));
          else expect(byCandidate(seen)).toEqual(expectedEvents(job));
        }
        expect(scheduler.slotsTaken).toBe(0);
      }),
      { numRuns: 100 },
    );
  });
});

test("a prompt is read once, however many candidates it gets", () => {
  const { scheduler, backend, run } = bench({ sequences: 4 });
  const prompt = Array.from({ length: 40 }, (_, index) => index);
  scheduler.submit(1, jobWith({ prompt, candidates: 9 }));
  run();
  const promptRows = backend.calls.flat().filter((row) => row.position < prompt.length);
  expect(promptRows.length).toBe(prompt.length);
});

test("no prompt row is computed alone, except for a prompt of one token", () => {
  const lengths = fc.integer({ min: 2, max: 200 });
  fc.assert(
    fc.property(lengths, fc.integer({ min: 8, max: 40 }), (length, rowsMax) => {
      const { scheduler, backend, run } = bench({ sequences: 2, rowsMax });
      const prompt = Array.from({ length }, (_, index) => index % vocabularySize);
      scheduler.submit(1, jobWith({ prompt, maxTokens: 1 }));
      run();
      expect(backend.calls.every((rows) => rows.length >= 2)).toBe(true);
    }),
  );
});

test("prompt rows and candidate rows never share a call", () => {
  const { scheduler, backend, run } = bench({ sequences: 2, rowsMax: 16 });
  scheduler.submit(1, jobWith({ prompt: [1, 2], maxTokens: 30, sampling: greedy() }));
  scheduler.step();
  const prompt = Array.from({ length: 100 }, () => 3);
  scheduler.submit(2, jobWith({ prompt }));
  run();
  for (const rows of backend.calls) {
    const isPrompt = rows.map((row) => row.sequence === 1 && row.position < prompt.length);
    expect(new Set(isPrompt).size).toBe(1);
  }
});

test("running candidates advance while a long prompt is read", () => {
  const { scheduler, backend, events } = bench({ sequences: 2, rowsMax: 16 });
  scheduler.submit(1, jobWith({ prompt: [1, 2], maxTokens: 100, sampling: greedy() }));
  scheduler.step();
  scheduler.submit(2, jobWith({ prompt: Array.from({ length: 160 }, () => 3) }));
  const before = backend.calls.length;
  for (let step = 0; step < 5; step++) scheduler.step();
  const candidateCalls = backend.calls.slice(before).filter((rows) => rows[0]?.sequence === 0);
  expect(candidateCalls.length).toBe(5);
  expect(events.get(2)?.map((event) => event.kind)).toEqual(["admitted"]);
});

test("a job without tokens to make and nothing to score is never evaluated", () => {
  const { scheduler, backend, events, run } = bench();
  scheduler.submit(1, jobWith({ maxTokens: 0, candidates: 2 }));
  run();
  expect(backend.calls).toEqual([]);
  expect(events.get(1)?.map((event) => event.kind)).toEqual([
    "admitted",
    "prompt",
    "finished",
    "finished",
  ]);
});

test("a sequence that is full ends with reason length", () => {
  const { scheduler, events, run } = bench({ contextLength: 10 });
  const prompt = [1, 2, 3, 4, 5, 6];
  scheduler.submit(1, jobWith({ prompt, maxTokens: 100, sampling: greedy() }));
  run();
  const last = events.get(1)?.at(-1);
  expect(last).toMatchObject({ kind: "finished", reason: "length" });
});

test("a queued job takes a free slot before further candidates of a running one", () => {
  const { scheduler, events } = bench({ sequences: 2 });
  scheduler.submit(1, jobWith({ candidates: 20, maxTokens: 10, sampling: greedy() }));
  for (let step = 0; step < 3; step++) scheduler.step();
  scheduler.submit(2, jobWith({ maxTokens: 3 }));
  for (let step = 0; step < 20; step++) scheduler.step();
  expect(events.get(2)?.at(-1)?.kind).toBe("finished");
});

test("the queue has a limit, and the job beyond it is refused as overload", () => {
  const { scheduler } = bench();
  const job = jobWith();
  for (let id = 0; id < queuedJobsMax; id++) scheduler.submit(id, job);
  let refusal: unknown;
  try {
    scheduler.submit(queuedJobsMax, job);
  } catch (error) {
    refusal = error;
  }
  expect((refusal as ApiError).status).toBe(503);
});

function greedy() {
  return { ...jobWith().sampling, temperature: 0 };
}
