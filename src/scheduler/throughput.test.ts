import { describe, expect, test } from "vitest";
import type { Job } from "../engine/engine.ts";
import { Throughput } from "./throughput.ts";

const jobOf = (prompt: number, maxTokens: number, candidates = 1) =>
  ({ prompt: new Array(prompt).fill(0), maxTokens, candidates }) as unknown as Job;

/** A throughput that has seen `rowsPerSecond` for half a minute. */
function measured(rowsPerSecond: number): Throughput {
  let clockMs = 0;
  const throughput = new Throughput(() => clockMs);
  for (let second = 0; second < 31; second++) {
    throughput.record(rowsPerSecond);
    clockMs += 1000;
  }
  throughput.record(0);
  return throughput;
}

describe("the advice when to try again", () => {
  test("is the time that an average waiting job takes", () => {
    const throughput = measured(200);
    const jobs = [jobOf(900, 100), jobOf(300, 100)];
    expect(throughput.retryAfterMs(jobs)).toBe(3500);
  });

  test("counts every candidate", () => {
    expect(measured(100).retryAfterMs([jobOf(100, 50, 4)])).toBe(3000);
  });

  test("is neither hasty nor beyond a minute", () => {
    expect(measured(1000).retryAfterMs([jobOf(1, 1)])).toBe(500);
    expect(measured(1).retryAfterMs([jobOf(4000, 90, 100)])).toBe(60_000);
    expect(measured(100).retryAfterMs([])).toBe(500);
  });

  test("an idle while does not make the engine look slow at once", () => {
    let clockMs = 0;
    const throughput = new Throughput(() => clockMs);
    for (let second = 0; second < 11; second++) {
      throughput.record(400);
      clockMs += 1000;
    }
    clockMs += 15_000;
    throughput.record(1);
    expect(throughput.retryAfterMs([jobOf(400, 0)])).toBeLessThanOrEqual(2500);
  });
});
