import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Cut, findCut } from "./cut.ts";
import { finiteLogits, rankedIds } from "./testing/logits.ts";

function kept(values: Float32Array, cut: Cut): number[] {
  let ties = 0;
  return [...values.keys()].filter((index) => {
    const value = values[index] ?? 0;
    if (value !== cut.value) return value > cut.value;
    ties += 1;
    return ties <= cut.ties;
  });
}

const ascending = (left: number, right: number) => left - right;

describe("for any values", () => {
  test("a count keeps that many of the largest, earlier ones among equals", () => {
    fc.assert(
      fc.property(finiteLogits, fc.integer({ min: 1, max: 320 }), (values, count) => {
        const cut = findCut(values, undefined, values.length, count);
        expect(kept(values, cut)).toEqual(rankedIds(values).slice(0, count).sort(ascending));
      }),
      { numRuns: 300 },
    );
  });

  test("a weight keeps the fewest of the largest that reach it", () => {
    fc.assert(
      fc.property(
        finiteLogits,
        fc.double({ min: 0.001, max: 1.1, noNaN: true }),
        (values, share) => {
          // Whole weights, so that sums are exact in any order.
          const weights = Float64Array.from(values, (value) => Math.ceil((value + 31) * 16));
          const limit = Math.ceil(share * weights.reduce((total, weight) => total + weight, 0));
          let sum = 0;
          const expected = rankedIds(values).filter((id) => {
            const isNeeded = sum < limit;
            sum += weights[id] ?? 0;
            return isNeeded;
          });
          const cut = findCut(values, weights, values.length, limit);
          expect(kept(values, cut)).toEqual(expected.sort(ascending));
        },
      ),
      { numRuns: 300 },
    );
  });
});

test("values of one size, and values apart by many orders of magnitude, are cut exactly", () => {
  const equal = new Float32Array(5000).fill(1.5);
  expect(findCut(equal, undefined, 5000, 1234)).toEqual({ value: 1.5, ties: 1234 });
  const apart = Float32Array.from({ length: 76 }, (_, place) => 10 ** (37 - place));
  const wide = Float32Array.from([...apart, ...apart.map((value) => -value)]);
  for (const count of [1, 40, 75, 76, 77, 100, 152]) {
    expect(kept(wide, findCut(wide, undefined, wide.length, count))).toHaveLength(count);
  }
});
