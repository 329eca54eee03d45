import { describe, expect, test } from "vitest";
import { readKeyUpdate, readNewKey } from "./keys-options.ts";
import { UserError } from "./user-error.ts";

/** A key can only expire after the clock's time, so times are counted from there. */
const nowMs = Date.now();
const hourMs = 3_600_000;

describe("a new key", () => {
  test("has what was said and nothing else", () => {
    expect(readNewKey("a", {}, nowMs)).toEqual({ name: "a", limits: {} });
    const words = { models: "x, y,x", requestsPerMinute: "60", userMaxParallel: "2" };
    expect(readNewKey("a", words, nowMs)).toEqual({
      name: "a",
      models: ["x", "y"],
      limits: { requestsPerMinute: 60, userMaxParallel: 2 },
    });
  });

  test("without bounds can be said in the words that take bounds away", () => {
    const words = { models: "all", expires: "never", maxParallel: "none" };
    expect(readNewKey("a", words, nowMs)).toEqual({ name: "a", limits: {} });
  });

  test.each([
    ["90s", nowMs + 90_000],
    ["90m", nowMs + 1.5 * hourMs],
    ["12h", nowMs + 12 * hourMs],
    ["30d", nowMs + 720 * hourMs],
    ["2w", nowMs + 336 * hourMs],
    ["2999-01-01", Date.UTC(2999, 0, 1)],
    ["2999-01-01T08:00:00+01:00", Date.UTC(2999, 0, 1, 7)],
  ])("that ends at %s", (expires, expiresMs) => {
    expect(readNewKey("a", { expires }, nowMs).expiresMs).toBe(expiresMs);
  });
});

describe("a change", () => {
  test("names what is to be another way; other things stay", () => {
    expect(readKeyUpdate({ tokensPerMonth: "5" }, nowMs)).toEqual({
      limits: { tokensPerMonth: 5 },
    });
    expect(readKeyUpdate({ models: "all" }, nowMs)).toEqual({ models: null, limits: {} });
    const words = { expires: "never", maxParallel: "none", models: "x" };
    expect(readKeyUpdate(words, nowMs)).toEqual({
      expiresMs: null,
      models: ["x"],
      limits: { maxParallel: null },
    });
  });

  test("of nothing is none", () => {
    expect(() => readKeyUpdate({}, nowMs)).toThrow(/say what to change/);
  });
});

describe("wrong words are told with the option they stand at", () => {
  test.each([
    [{ expires: "soon" }, /^--expires: expected a duration .*, or never, got "soon"$/],
    [{ expires: "2026-02-30" }, /got "2026-02-30"$/],
    [{ expires: "2020-01-01" }, /^--expires: 2020-01-01 is in the past \(2020-01-01T00:00:00Z\)$/],
    [{ expires: "0d" }, /^--expires: 0d is in the past/],
    [{ expires: "9999999w" }, /^--expires: 9999999w is later than the year 9999$/],
    [{ models: "a,,b" }, /^--models: expected names with commas between them, got "a,,b"$/],
    [{ models: "" }, /^--models: /],
    [{ models: "none" }, /^--models: expected names of models, or all alone, got "none"$/],
    [{ models: "all,x" }, /^--models: expected names of models, or all alone, got "all,x"$/],
    [{ maxParallel: "0" }, /^--max-parallel: .* from 1 to 100000000000, or none, got "0"$/],
    [{ tokensPerMonth: "1e6" }, /^--tokens-per-month: .*, got "1e6"$/],
    [{ tokensPerMonth: "100000000001" }, /^--tokens-per-month: /],
    [{ userTokensPerMinute: "all" }, /^--user-tokens-per-minute: .*, or none, got "all"$/],
  ])("%j", (words, message) => {
    const read = () => readNewKey("a", words, nowMs);
    expect(read).toThrow(UserError);
    expect(read).toThrow(message);
  });

  test.each(["", " a", "a\nb", "\u001b[2J", "x".repeat(101), "key_a", "configured-1"])(
    "the name %j",
    (name) => {
      const read = () => readNewKey(name, {}, nowMs);
      expect(read).toThrow(UserError);
      expect(read).toThrow(/^A key's name /);
    },
  );

  test("a name of 100 letters of any script is right", () => {
    expect(readNewKey("é".repeat(100), {}, nowMs).name).toHaveLength(100);
  });
});
