import { expect, test } from "vitest";
import { timeOf } from "./time-text.ts";

test.each([
  ["2026-10-02", Date.UTC(2026, 9, 2)],
  ["2026-10-02T08:00Z", Date.UTC(2026, 9, 2, 8)],
  ["2026-10-02T08:00:01.5Z", Date.UTC(2026, 9, 2, 8, 0, 1, 500)],
  ["2026-10-02T01:00:00+02:00", Date.UTC(2026, 9, 1, 23)],
  ["1790000000", 1_790_000_000_000],
  ["0", 0],
])("%s is a time", (text, ms) => {
  expect(timeOf(text)).toBe(ms);
});

test.each([
  "",
  "yesterday",
  "2026-02-30",
  "2026-02-30T08:00:00Z",
  "2026-13-01",
  "2026-10-02T08:00:00",
  "2026-10-02T25:00:00Z",
  "26-10-02",
  "-1",
  "1e9",
  "100000000000000",
])("'%s' is none", (text) => {
  expect(timeOf(text)).toBeUndefined();
});
