import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { StopMatcher, StopPatterns } from "./stop-matcher.ts";
import { likelyText, searchPlainly, stopStrings } from "./testing/arbitraries.ts";

const pieces = fc.array(likelyText, { maxLength: 8 });

/** Feeds pieces until a match is certain. */
function feed(stops: readonly string[], texts: readonly string[]) {
  const matcher = new StopMatcher(new StopPatterns(stops));
  for (const [place, text] of texts.entries()) {
    const match = matcher.push(text);
    if (match !== undefined) return { match, place };
  }
  return { match: matcher.end(), place: texts.length };
}

/** Where the text may still become, or already is, a match: from the definition. */
function safeByDefinition(text: string, stops: readonly string[]): number {
  let safe = searchPlainly(text, stops)?.start ?? text.length;
  for (let start = 0; start < text.length; start += 1) {
    const tail = text.slice(start);
    if (stops.some((stop) => stop.isWellFormed() && stop.startsWith(tail)))
      safe = Math.min(safe, start);
  }
  return safe;
}

describe("whatever the pieces", () => {
  test("the match is the one that a plain search of the whole text finds", () => {
    fc.assert(
      fc.property(stopStrings, pieces, (stops, texts) => {
        expect(feed(stops, texts).match).toEqual(searchPlainly(texts.join(""), stops));
      }),
      { numRuns: 1000 },
    );
  });

  test("exactly the text that no continuation can take back is safe", () => {
    fc.assert(
      fc.property(stopStrings, pieces, (stops, texts) => {
        const matcher = new StopMatcher(new StopPatterns(stops));
        let fed = "";
        for (const text of texts) {
          fed += text;
          if (matcher.push(text) !== undefined) break;
          expect(matcher.safeLength(false)).toBe(safeByDefinition(fed, stops));
        }
      }),
      { numRuns: 500 },
    );
  });
});

test("a match waits while a longer one at the same place is possible", () => {
  const matcher = new StopMatcher(new StopPatterns(["X", "X\n"]));
  expect(matcher.push("abX")).toBeUndefined();
  expect(matcher.safeLength(false)).toBe(2);
  expect(matcher.push("\n")).toEqual({ start: 2, end: 4 });
});

test("a match that waited is taken when the text goes on otherwise or ends", () => {
  expect(feed(["X", "X\n"], ["abX", "c"])).toEqual({ match: { start: 2, end: 3 }, place: 1 });
  expect(feed(["X", "X\n"], ["abX"])).toEqual({ match: { start: 2, end: 3 }, place: 1 });
});

test("a match waits while one that starts earlier is possible", () => {
  expect(feed(["bc", "abcd"], ["abc", "d"]).match).toEqual({ start: 0, end: 4 });
  expect(feed(["bc", "abcd"], ["abc", "e"]).match).toEqual({ start: 1, end: 3 });
});

test("with the match kept in the text, only what follows a known match is held", () => {
  const matcher = new StopMatcher(new StopPatterns(["X", "X\n\n"]));
  matcher.push("ab");
  expect(matcher.safeLength(true)).toBe(2);
  matcher.push("X\n");
  expect(matcher.safeLength(true)).toBe(3);
});

test("half of a character never matches, and empty strings are no stop strings", () => {
  expect(new StopPatterns(["", "\ud83d", "\ude00", "a", "a"]).strings).toEqual(["a"]);
});

test("many long stop strings that nearly match are searched in one go over a long text", () => {
  const stops = Array.from({ length: 64 }, (_, place) => `${"a".repeat(4000 - place)}b`);
  const text = "a".repeat(100);
  const matcher = new StopMatcher(new StopPatterns(stops));
  for (let piece = 0; piece < 300; piece += 1) expect(matcher.push(text)).toBeUndefined();
  expect(matcher.safeLength(false)).toBe(30_000 - 4000);
  expect(matcher.push("b")).toEqual({ start: 26_000, end: 30_001 });
});
