import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ApiError } from "../contract/errors.ts";
import { queuedJobsMax } from "./scheduler.ts";
import { bench, cachedTokens, greedy, jobWith, vocabularySize } from "./testing/scheduler-bench.ts";

const count = (length: number, first = 0) => Array.from({ length }, (_, i) => (first + i) % 50);

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

test("a job of a model that computes no numbers fails, and the others go on", () => {
  const { scheduler, backend, ended, failed, run } = bench();
  const logits = backend.logits.bind(backend);
  scheduler.submit(1, jobWith({ candidates: 2, prompt: [9, 9], maxTokens: 8, sampling: greedy() }));
  scheduler.step();
  backend.logits = (row) => logits(row).map(() => Number.NaN);
  scheduler.step();
  backend.logits = logits;
  scheduler.submit(2, jobWith());
  run();
  expect(failed).toEqual(["1: the model computes no numbers: its weights may be damaged"]);
  expect(ended).toEqual([2]);
  expect(scheduler.busySlots).toBe(0);
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

test("the queue's limit can be another", () => {
  const { scheduler } = bench({ queuedJobsMax: 2 });
  for (const id of [1, 2]) scheduler.submit(id, jobWith());
  expect(() => scheduler.submit(3, jobWith())).toThrow(
    expect.objectContaining({
      status: 503,
      retry: { shouldRetry: true, retryAfterMs: expect.any(Number) },
    }),
  );
});

describe("prompts that begin alike", () => {
  const prompt = count(60);

  test("are read once when they come one after the other", () => {
    const { scheduler, events, run } = bench();
    scheduler.submit(1, jobWith({ prompt }));
    run();
    scheduler.submit(2, jobWith({ prompt: [...prompt.slice(0, 50), 99, 98, 97] }));
    run();
    expect(cachedTokens(events.get(1))).toBe(0);
    expect(cachedTokens(events.get(2))).toBe(50);
  });

  test("are read once when they come together, and all start from the same row", () => {
    const { scheduler, backend, events, run } = bench({ sequences: 8, rowsMax: 16 });
    for (let id = 0; id < 8; id++) scheduler.submit(id, jobWith({ prompt }));
    run();
    const promptRows = backend.calls.flat().filter((row) => row.position < prompt.length);
    expect(promptRows.length).toBe(prompt.length);
    expect([...events.values()].map(cachedTokens)).toEqual([0, 60, 60, 60, 60, 60, 60, 60]);
  });

  test("wait for the one that reads, also when their endings differ", () => {
    const { scheduler, events, run } = bench({ sequences: 4, rowsMax: 16 });
    scheduler.submit(1, jobWith({ prompt: [...prompt, 70, 71, 72, 73] }));
    scheduler.submit(2, jobWith({ prompt: [...prompt, 80, 81] }));
    run();
    expect(cachedTokens(events.get(2))).toBe(60);
  });

  test("do not wait for a reader that is cancelled", () => {
    const { scheduler, events, run } = bench({ sequences: 4, rowsMax: 16 });
    scheduler.submit(1, jobWith({ prompt }));
    scheduler.submit(2, jobWith({ prompt }));
    scheduler.step();
    scheduler.abort(1);
    run();
    expect(events.get(2)?.at(-1)?.kind).toBe("finished");
  });

  test("of different owners spare each other nothing", () => {
    const { scheduler, events, run } = bench();
    const caller = { owner: "a", request: "1", priority: "interactive" } as const;
    scheduler.submit(1, jobWith({ prompt, caller }));
    run();
    scheduler.submit(2, jobWith({ prompt, caller: { ...caller, owner: "b" } }));
    run();
    expect(cachedTokens(events.get(2))).toBe(0);
  });

  test("scored with different endings share slot and scores without a copy", () => {
    const { scheduler, backend, events, run } = bench({ sequences: 4, rowsMax: 16 });
    const scoring = { maxTokens: 1, scoreFrom: 1, topLogprobs: 1 };
    for (let id = 0; id < 5; id++) {
      scheduler.submit(id, jobWith({ prompt: [...prompt, 100 + id, 101], ...scoring }));
    }
    run();
    // The row before the ending is computed again: it gives the ending's first score.
    expect([...events.values()].map(cachedTokens)).toEqual([0, 59, 59, 59, 59]);
    expect(backend.copies).toBe(0);
  });

  test("go when others need the slot, the longest unused first", () => {
    const { scheduler, events, run } = bench({ sequences: 2 });
    const [first, second, third] = [count(50, 1), count(50, 2), count(50, 3)];
    for (const [id, prompt] of [first, second, first, third].entries()) {
      scheduler.submit(id, jobWith({ prompt }));
      run();
    }
    scheduler.submit(10, jobWith({ prompt: first }));
    run();
    expect(cachedTokens(events.get(10))).toBe(50);
    scheduler.submit(11, jobWith({ prompt: second }));
    run();
    expect(cachedTokens(events.get(11))).toBe(0);
  });
});

test("batch jobs wait while interactive ones want a slot", () => {
  const { scheduler, ended, run } = bench({ sequences: 1 });
  const caller = { owner: "", request: "1", priority: "batch" } as const;
  scheduler.submit(1, jobWith({ caller }));
  scheduler.submit(2, jobWith({ caller: { ...caller, priority: "interactive" } }));
  run();
  expect(ended).toEqual([2, 1]);
});

test("one request for many candidates and a single one share the slots", () => {
  const { scheduler, ended, run } = bench({ sequences: 2 });
  const caller = { owner: "", request: "wide", priority: "interactive" } as const;
  scheduler.submit(1, jobWith({ candidates: 40, maxTokens: 20, sampling: greedy(), caller }));
  for (let step = 0; step < 10; step++) scheduler.step();
  for (let id = 2; id < 5; id++) {
    const single = { ...caller, request: `single ${id}` };
    scheduler.submit(id, jobWith({ maxTokens: 3, caller: single, prompt: [id, id] }));
  }
  run();
  expect(ended.at(-1)).toBe(1);
});
