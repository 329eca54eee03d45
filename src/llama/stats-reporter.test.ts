import { expect, test } from "vitest";
import { restingStats, zeroCounts } from "../observe/engine-stats.ts";
import { reportMs, StatsReporter } from "./stats-reporter.ts";

/** The times at which a reporter sends when steps end at the given times. */
function sentAt(steps: readonly (readonly [timeMs: number, idle: boolean])[]): number[] {
  let now = 0;
  const sent: number[] = [];
  const reporter = new StatsReporter({
    read: () => restingStats({ slots: 1, capacityTokens: 16 }, zeroCounts),
    send: () => sent.push(now),
    nowMs: () => now,
  });
  for (const [timeMs, idle] of steps) {
    now = timeMs;
    reporter.stepped(idle);
  }
  return sent;
}

test("the first step is told, and further ones at most once in the time between reports", () => {
  const steps = Array.from({ length: 1001 }, (_, time) => [time, false] as const);
  expect(sentAt(steps)).toEqual([0, reportMs, 2 * reportMs, 3 * reportMs, 4 * reportMs]);
});

test("becoming idle is told at once, however short ago the last report was", () => {
  const steps = [
    [10, false],
    [11, true],
    [12, true],
  ] as const;
  expect(sentAt(steps)).toEqual([10, 11, 12]);
});
