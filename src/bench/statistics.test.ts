import { expect, test } from "vitest";
import { median, percentile, rangeOf } from "./statistics.ts";

test("the median is the middle value, or lies between the two middle ones", () => {
  expect(median([9, 1, 5])).toBe(5);
  expect(median([4, 1, 10, 2])).toBe(3);
  expect(median([7])).toBe(7);
  expect(median([])).toBeNaN();
});

test("a percentile is the least value that so many do not exceed", () => {
  const values = Array.from({ length: 200 }, (_, index) => 200 - index);
  expect(percentile(values, 99)).toBe(198);
  expect(percentile(values, 100)).toBe(200);
  expect(percentile([3, 1, 2], 50)).toBe(2);
  expect(percentile([3], 99)).toBe(3);
  expect(percentile([], 99)).toBeNaN();
});

test("values are not put in order in place", () => {
  const values = [3, 1, 2];
  median(values);
  expect(values).toEqual([3, 1, 2]);
  expect(rangeOf(values)).toEqual({ low: 1, high: 3 });
});
