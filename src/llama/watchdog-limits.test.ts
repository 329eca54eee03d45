import { expect, test } from "vitest";
import { watchdogLimits } from "./watchdog-limits.ts";

test("a large file gets the time to be read again from a slow disk", () => {
  expect(watchdogLimits(undefined, 0).silenceMs).toBe(60_000);
  expect(watchdogLimits(undefined, 40e9).silenceMs).toBe(60_000 + 800_000);
  expect(watchdogLimits(undefined, 40e9).loadingMs).toBe(600_000 + 4_000_000);
});

test("what the user says holds, whatever the size", () => {
  expect(watchdogLimits(2.5, 40e9).silenceMs).toBe(2_500);
  expect(watchdogLimits(0, 40e9).silenceMs).toBe(0);
});
