import fc from "fast-check";
import { expect, test } from "vitest";
import { overlapMost, rateExcess, rateMost } from "./rate-model.ts";

test("what fits exactly is no excess, and one more is one", () => {
  const second = (at: number, amount = 1) => ({ atMs: 1_800_000_000_000 + at * 1000, amount });
  const full = [second(0, 60), ...Array.from({ length: 10 }, (_, at) => second(at + 1))];
  expect(rateExcess(full, 60)).toBe(0);
  expect(rateExcess([...full, second(10)], 60)).toBe(1);
  expect(rateMost(60, 10_000)).toBe(70);
});

test("the excess is that of the worst of all windows", () => {
  const use = fc.record({ atMs: fc.integer({ min: 0, max: 300_000 }), amount: fc.nat(50) });
  const uses = fc.array(use, { minLength: 1, maxLength: 40 });
  fc.assert(
    fc.property(uses, fc.integer({ min: 1, max: 100 }), (unsorted, limit) => {
      const sorted = unsorted.toSorted((a, b) => a.atMs - b.atMs);
      const windows = sorted.flatMap((first, from) =>
        sorted.slice(from).map((last, length) => {
          const part = sorted.slice(from, from + length + 1);
          const sum = part.reduce((total, { amount }) => total + amount, 0);
          return sum - limit - (limit * (last.atMs - first.atMs)) / 60_000;
        }),
      );
      expect(rateExcess(sorted, limit)).toBeCloseTo(Math.max(...windows), 2);
    }),
  );
});

test("intervals overlap where they hold at one moment", () => {
  const at = (fromMs: number, untilMs: number) => ({ fromMs, untilMs });
  expect(overlapMost([at(0, 10), at(10, 20), at(5, 12), at(8, 8)])).toBe(2);
  expect(overlapMost([])).toBe(0);
});
