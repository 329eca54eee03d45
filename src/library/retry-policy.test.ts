import { describe, expect, test } from "vitest";
import { type FailedAnswer, type RetryPolicy, retryDelayMs } from "./retry-policy.ts";

const now = Date.UTC(2026, 0, 1);
const policy: RetryPolicy = { retriesMax: 2, random: () => 0, now: () => now };

function answer(status: number, headers: Readonly<Record<string, string>> = {}): FailedAnswer {
  return { status, header: (name) => headers[name] };
}

describe("what is tried again", () => {
  test.each([408, 409, 429, 500, 502, 503, 529])("status %i", (status) => {
    expect(retryDelayMs(policy, 0, answer(status))).toBe(500);
  });

  test.each([400, 401, 403, 404, 405, 413, 422])("not status %i", (status) => {
    expect(retryDelayMs(policy, 0, answer(status))).toBeUndefined();
  });

  test("a connection that failed", () => {
    expect(retryDelayMs(policy, 0, undefined)).toBe(500);
  });

  test("what the server says about it wins over its status", () => {
    expect(retryDelayMs(policy, 0, answer(400, { "x-should-retry": "true" }))).toBe(500);
    expect(retryDelayMs(policy, 0, answer(500, { "x-should-retry": "false" }))).toBeUndefined();
  });

  test("nothing after the last retry, whatever the server says", () => {
    expect(retryDelayMs(policy, 2, answer(503, { "x-should-retry": "true" }))).toBeUndefined();
    expect(retryDelayMs(policy, 2, undefined)).toBeUndefined();
    expect(retryDelayMs({ ...policy, retriesMax: 0 }, 0, undefined)).toBeUndefined();
  });
});

describe("the wait", () => {
  test("doubles from half a second to eight", () => {
    const patient = { ...policy, retriesMax: 10 };
    const waits = [0, 1, 2, 3, 4, 5, 9].map((done) => retryDelayMs(patient, done, undefined));
    expect(waits).toEqual([500, 1000, 2000, 4000, 8000, 8000, 8000]);
  });

  test("is shortened by chance, by a quarter at most", () => {
    expect(retryDelayMs({ ...policy, random: () => 0.5 }, 0, undefined)).toBe(437.5);
    expect(retryDelayMs({ ...policy, random: () => 1 }, 1, undefined)).toBe(750);
  });

  test.each([
    [{ "retry-after-ms": "12.5", "retry-after": "9" }, 12.5],
    [{ "retry-after": "3" }, 3000],
    [{ "retry-after": "0.25" }, 250],
    [{ "retry-after": "Thu, 01 Jan 2026 00:00:07 GMT" }, 7000],
    [{ "retry-after-ms": "nonsense", "retry-after": "2" }, 2000],
    [{ "retry-after-ms": "0" }, 0],
  ])("is what %j asks for", (headers, expected) => {
    expect(retryDelayMs(policy, 0, answer(429, headers))).toBe(expected);
  });

  test.each([
    { "retry-after": "61" },
    { "retry-after-ms": "60001" },
    { "retry-after": "-1" },
    { "retry-after": "soon" },
    { "retry-after": "" },
    { "retry-after": "Wed, 31 Dec 2025 23:59:59 GMT" },
    { "retry-after": "Thu, 01 Jan 2026 00:01:01 GMT" },
  ])("is the backoff where %j is no use", (headers) => {
    expect(retryDelayMs(policy, 1, answer(429, headers))).toBe(1000);
  });
});
