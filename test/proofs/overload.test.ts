/** Bounded versions of `npm run proof:overload`. Linux only, as it looks at processes. */
import { expect, test } from "vitest";
import { runBurst } from "./burst.ts";
import { runClockJumps } from "./clock-jumps.ts";
import { runFullDisk } from "./full-disk.ts";
import { runSlowReaders } from "./slow-readers.ts";
import { runSlowSenders } from "./slow-senders.ts";

test("a burst of requests is answered, or told when to come again", async () => {
  expect((await runBurst({ requests: 80, queue: 20 })).violations).toEqual([]);
});

test("slow readers cost little memory, and others are served meanwhile", async () => {
  const part = await runSlowReaders({ readers: 30, seconds: 5, untilCut: false });
  expect(part.violations).toEqual([]);
});

test("slow senders keep nobody from being served", async () => {
  const part = await runSlowSenders({ senders: 90, seconds: 3, untilCut: false });
  expect(part.violations).toEqual([]);
});

test("a full disk is a refusal with a hint, and nothing is lost", async () => {
  const parts = await runFullDisk({ seconds: 3, clients: 6, seed: 3 });
  expect(parts.flatMap(({ violations }) => violations)).toEqual([]);
});

test("a clock that jumps neither opens limits nor blocks them", async () => {
  const parts = await runClockJumps({ stepSeconds: 2, seed: 4 });
  expect(parts.flatMap(({ violations }) => violations)).toEqual([]);
});
