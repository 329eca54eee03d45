import type { ServerNotification } from "@modelcontextprotocol/sdk/types.js";
import { expect, test } from "vitest";
import { Progress, progressIntervalMs } from "./progress.ts";

function recorded(token: string | number | undefined) {
  const sent: ServerNotification[] = [];
  let nowMs = 0;
  const progress = new Progress({
    token,
    send: async (notification) => {
      sent.push(notification);
    },
    nowMs: () => nowMs,
  });
  return {
    progress,
    counts: () => sent.map(({ params }) => (params as { progress: number }).progress),
    sent,
    wait: (ms: number) => {
      nowMs += ms;
    },
  };
}

test("says the count, the most there can be, and a few words", () => {
  const { progress, sent, wait } = recorded("t");
  progress.report(0, 16);
  wait(progressIntervalMs);
  progress.report(3, undefined);
  expect(sent).toEqual([
    {
      method: "notifications/progress",
      params: { progressToken: "t", progress: 0, total: 16, message: "reading the prompt" },
    },
    {
      method: "notifications/progress",
      params: { progressToken: "t", progress: 3, message: "3 tokens" },
    },
  ]);
});

test("leaves out counts that come too soon or do not rise", () => {
  const { progress, counts, wait } = recorded(0);
  progress.report(1, 9);
  progress.report(2, 9);
  wait(progressIntervalMs);
  progress.report(1, 9);
  progress.report(4, 9);
  wait(progressIntervalMs - 1);
  progress.report(5, 9);
  expect(counts()).toEqual([1, 4]);
});

test("says nothing to those who gave no token", () => {
  const { progress, sent } = recorded(undefined);
  expect(progress.wanted).toBe(false);
  progress.report(0, 1);
  expect(sent).toEqual([]);
});
