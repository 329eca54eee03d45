import { expect, test } from "vitest";
import { gapsBefore, gapsDuring } from "./fairness.ts";

const streams = [{ timesMs: [0, 10, 30, 100] }, { timesMs: [5, 50] }];

test("gaps alone are those that were over before", () => {
  expect(gapsBefore(streams, 30)).toEqual([10, 20]);
  expect(gapsBefore(streams, 4)).toEqual([]);
});

test("gaps beside are those that were open at some time, in their whole length", () => {
  // 30-100 began before and 5-50 ended within; the second stream waits from 50 on.
  expect(gapsDuring(streams, 40, 90)).toEqual([70, 45, 40]);
});

test("a stream that says nothing all the time counts", () => {
  expect(gapsDuring([{ timesMs: [0, 10] }], 20, 500)).toEqual([490]);
});

test("what ended before or began after does not count", () => {
  expect(gapsDuring([{ timesMs: [0, 10, 20, 30] }], 10, 20)).toEqual([10]);
});
