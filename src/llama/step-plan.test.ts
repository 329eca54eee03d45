import { expect, test } from "vitest";
import type { Row } from "../scheduler/backend.ts";
import { FakeBackend } from "../scheduler/testing/fake-backend.ts";
import { planSteps, threadsAtStart } from "./step-plan.ts";
import { tinyLoad } from "./testing/tiny-load.ts";

type Cost = (rows: number, threads: number) => number;

/** A machine on which a call takes so long, and what is planned for it. */
function planOn(cores: number, costMs: Cost, threads?: number) {
  let clockMs = 0;
  class ThreadedFake extends FakeBackend {
    threads = threadsAtStart({ ...tinyLoad, threads }, cores);
    setThreads(count: number): void {
      this.threads = count;
    }
    override decode(rows: readonly Row[]): void {
      super.decode(rows);
      clockMs += costMs(rows.length, this.threads);
    }
  }
  const backend = new ThreadedFake({ sequences: 4 });
  const served = { backend, padRows: false, libraryVersion: "1" };
  const plan = planSteps({ load: { ...tinyLoad, threads }, served, nowMs: () => clockMs, cores });
  const step = () => {
    plan.backend.decode([{ token: 0, position: 0, sequence: 0, logits: true }]);
    backend.trimSequence(0, 0);
    return plan.threads();
  };
  return { plan, step };
}

/** Two rows are dearer together with one thread, cheaper with two. */
const widthMs = (rows: number, threads: number): number =>
  threads === 1 ? (rows === 1 ? 10 : 25 * (rows / 2)) : 6 + rows;

test("on free cores it starts with all of them, and plans steps for them", () => {
  const { plan, step } = planOn(2, widthMs);
  expect(step()).toBe(2);
  expect(plan.partition(2)).toEqual([2]);
});

test("where all together are kept waiting it starts with fewer, and plans steps for those", () => {
  const { plan, step } = planOn(2, (rows, threads) => widthMs(rows, threads) * threads ** 6);
  expect(step()).toBe(1);
  expect(plan.partition(2)).toEqual([1, 1]);
});

test("on many cores one more or less is not worth measuring", () => {
  const counts = new Set<number>();
  const { step } = planOn(8, (rows, threads) => {
    counts.add(threads);
    return widthMs(rows, threads);
  });
  expect([...counts]).toEqual([7]);
  expect(step()).toBe(7);
});

test("a number that was said stays", () => {
  const { plan, step } = planOn(2, widthMs, 1);
  for (let count = 0; count < 100; count += 1) expect(step()).toBe(1);
  expect(plan.partition(2)).toEqual([1, 1]);
});

test("what measuring took is told, and at least a widest call", () => {
  const { plan } = planOn(2, () => 5_000);
  expect(plan.probedMs).toBeGreaterThanOrEqual(5_000);
});
