import { expect, test } from "vitest";
import type { Caller, Job } from "../engine/engine.ts";
import { FairTurns } from "./fair-turns.ts";

function jobOf(caller: Partial<Caller>): Job {
  const full = { owner: "", request: "", priority: "interactive", ...caller };
  return { caller: full } as unknown as Job;
}

/** Serves whoever is next, `turns` times a token, and counts. */
function serve(turns: number, jobs: readonly Job[]): number[] {
  const fair = new FairTurns();
  for (const job of jobs) fair.join(job);
  const counts = jobs.map(() => 0);
  for (let turn = 0; turn < turns; turn++) {
    const job = fair.next(jobs, (contender) => contender) as Job;
    fair.charge(job, 1);
    counts[jobs.indexOf(job)] = (counts[jobs.indexOf(job)] ?? 0) + 1;
  }
  return counts;
}

test("two owners share equally, however many requests each has", () => {
  const many = Array.from({ length: 9 }, (_, index) => jobOf({ owner: "a", request: `${index}` }));
  const counts = serve(1000, [...many, jobOf({ owner: "b", request: "one" })]);
  expect(counts.at(-1)).toBe(500);
});

test("requests of one owner share equally, however many jobs each has", () => {
  const jobs = Array.from({ length: 5 }, () => jobOf({ request: "wide" }));
  const counts = serve(100, [...jobs, jobOf({ request: "single" })]);
  expect(counts.at(-1)).toBe(50);
});

test("interactive jobs go before batch jobs, whatever was served", () => {
  const counts = serve(10, [jobOf({ priority: "batch", owner: "a" }), jobOf({ owner: "b" })]);
  expect(counts).toEqual([0, 10]);
});

test("who comes anew has no credit for the time before", () => {
  const fair = new FairTurns();
  const old = jobOf({ owner: "old" });
  fair.join(old);
  fair.charge(old, 1000);
  fair.charge(old, 1);
  const young = jobOf({ owner: "young" });
  fair.join(young);
  let served = 0;
  while (fair.next([old, young], (job) => job) === young) {
    fair.charge(young, 1);
    served += 1;
  }
  expect(served).toBeLessThanOrEqual(1);
});

test("who has left is forgotten", () => {
  const fair = new FairTurns();
  const job = jobOf({ owner: "a" });
  fair.join(job);
  fair.charge(job, 50);
  fair.leave(job);
  fair.join(job);
  expect(fair.compare(job, jobOf({ owner: "never seen" }))).toBe(0);
});

test("equals keep their order of arrival", () => {
  const fair = new FairTurns();
  const [first, second] = [jobOf({ request: "x" }), jobOf({ request: "x" })];
  fair.join(first);
  fair.join(second);
  expect(fair.next([first, second], (job) => job)).toBe(first);
});
