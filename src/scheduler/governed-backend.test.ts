import { expect, test } from "vitest";
import { GovernedBackend, workOf } from "./governed-backend.ts";
import { FakeBackend } from "./testing/fake-backend.ts";
import { ThreadGovernor } from "./thread-governor.ts";

class ThreadedFake extends FakeBackend {
  readonly threads: number[] = [];

  setThreads(threads: number): void {
    this.threads.push(threads);
  }

  override sequenceLength(sequence: number): number {
    return this.contents[sequence]?.length ?? 0;
  }
}

const row = (sequence: number, position: number, logits: boolean) => ({
  token: 1,
  position,
  sequence,
  logits,
});

test("a call is told apart by its rows, sequences, logits and place in the context", () => {
  const rows = [row(0, 10, true), row(0, 11, false), row(3, 30, true), row(3, 31, false)];
  expect(workOf(rows)).toEqual({ rows: 4, sequences: 2, outputs: 2, position: 20.5 });
});

test("threads are set when the governor changes its mind, and only then", () => {
  const backend = new ThreadedFake();
  const governor = new ThreadGovernor({ cores: 2 });
  let ms = 0;
  // Each look at the clock is 400 ms after the one before: a call takes as long.
  const nowMs = () => {
    ms += 400;
    return ms;
  };
  let free = 1;
  const governed = new GovernedBackend({ backend, governor, nowMs, freeCores: () => free });
  for (let position = 0; position < 10; position++) governed.decode([row(0, position, true)]);
  expect(backend.threads).toEqual([1]);
  free = 2;
  for (let position = 10; position < 13; position++) governed.decode([row(0, position, true)]);
  expect(backend.threads).toEqual([1, 2]);
  expect(backend.calls).toHaveLength(13);
});
