import fc from "fast-check";
import { expect, test } from "vitest";
import { uniform } from "./uniform.ts";

/** The chi-square sum of counts that should be equal. */
function chiSquare(counts: readonly number[]): number {
  const mean = counts.reduce((total, count) => total + count, 0) / counts.length;
  return counts.reduce((total, count) => total + (count - mean) ** 2 / mean, 0);
}

function countBins(bins: number, values: Iterable<number>): number[] {
  const counts = new Array<number>(bins).fill(0);
  for (const value of values) {
    const bin = Math.floor(value * bins);
    counts[bin] = (counts[bin] ?? 0) + 1;
  }
  return counts;
}

const many = Array.from({ length: 64_000 }, (_, place) => place);
/** 63 degrees of freedom: the mean is 63, and 130 is exceeded once in a million. */
const chiSquareMax = 130;

test("numbers lie in [0, 1) for any integers", () => {
  fc.assert(
    fc.property(fc.maxSafeInteger(), fc.nat(127), fc.nat(1e6), (seed, candidate, position) => {
      const value = uniform(seed, candidate, position);
      expect(value).toBeGreaterThanOrEqual(0);
      expect(value).toBeLessThan(1);
      expect(uniform(seed, candidate, position)).toBe(value);
    }),
  );
});

test("numbers are even along positions, candidates, seeds and the upper half of seeds", () => {
  const lines = [
    many.map((place) => uniform(5, 0, place)),
    many.map((place) => uniform(5, place, 0)),
    many.map((place) => uniform(place, 0, 0)),
    many.map((place) => uniform(place * 2 ** 32, 0, 0)),
  ];
  for (const line of lines) expect(chiSquare(countBins(64, line))).toBeLessThan(chiSquareMax);
});

test("neighbouring positions, candidates and seeds are independent of each other", () => {
  const pair = (left: number, right: number) => (Math.floor(left * 8) + right) / 8;
  const lines = [
    many.map((place) => pair(uniform(1, 0, place), uniform(1, 0, place + 1))),
    many.map((place) => pair(uniform(1, 0, place), uniform(1, 1, place))),
    many.map((place) => pair(uniform(1, 0, place), uniform(2, 0, place))),
    many.map((place) => pair(uniform(1, 1, place), uniform(1, 0, place + 1))),
  ];
  for (const line of lines) expect(chiSquare(countBins(64, line))).toBeLessThan(chiSquareMax);
});

test("candidate 1 of seed 5 does not repeat candidate 0 of seed 6, nor of seed 5 + 2^32", () => {
  const values = [uniform(5, 1, 0), uniform(6, 0, 0), uniform(5, 0, 1), uniform(5 + 2 ** 32, 0, 0)];
  expect(new Set(values).size).toBe(4);
});
