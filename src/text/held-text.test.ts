import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { HeldText, type TextGroup } from "./held-text.ts";
import { StopPatterns } from "./stop-matcher.ts";
import {
  concatenate,
  decodeWhole,
  outputTokens,
  searchPlainly,
  stopStrings,
} from "./testing/arbitraries.ts";

interface Outcome {
  /** What was released by each push, then by the end. */
  readonly steps: readonly (readonly TextGroup[])[];
  readonly stopped: boolean;
  readonly releasedCodePoints: number;
}

const bytesOf = (text: string) => new TextEncoder().encode(text);

function run(
  tokens: readonly Uint8Array[],
  stops: readonly string[],
  { includeMatch = false, searchAfterTokens = 0 } = {},
): Outcome {
  const patterns = new StopPatterns(stops);
  const held = new HeldText({ patterns, includeMatch, searchAfterTokens });
  const steps: (readonly TextGroup[])[] = [];
  for (const token of tokens) {
    const { groups, stopped } = held.push(token);
    steps.push(groups);
    if (stopped) return { steps, stopped, releasedCodePoints: held.releasedCodePoints };
  }
  const { groups, stopped } = held.end();
  return { steps: [...steps, groups], stopped, releasedCodePoints: held.releasedCodePoints };
}

const textOf = (groups: readonly TextGroup[]) => groups.map(({ text }) => text).join("");

/** Code points and units of the whole text that lie before each token, by decoding both sides. */
function placesOf(tokens: readonly Uint8Array[]) {
  const bytes = concatenate(tokens);
  const whole = decodeWhole(bytes);
  let length = 0;
  return tokens.map((token) => {
    const before = bytes.subarray(0, length);
    const isClean = decodeWhole(before) + decodeWhole(bytes.subarray(length)) === whole;
    const complete = new TextDecoder("utf-8", { ignoreBOM: true }).decode(before, { stream: true });
    const text = isClean && token.length > 0 ? decodeWhole(before) : complete;
    // A token without bytes ends no begun character: it stands with those in front of it.
    const isFirst = isClean && (token.length > 0 || complete === decodeWhole(before));
    length += token.length;
    return { isClean, isFirst, offset: [...text].length, start: text.length };
  });
}

describe("whatever the bytes, the tokens and the stop strings", () => {
  test("text, offsets and tokens are those of a plain search of the whole text", () => {
    fc.assert(
      fc.property(outputTokens, stopStrings, fc.boolean(), (tokens, stops, includeMatch) => {
        const { steps, stopped, releasedCodePoints } = run(tokens, stops, { includeMatch });
        const whole = decodeWhole(concatenate(tokens));
        const match = searchPlainly(whole, stops);
        const cut = includeMatch ? match?.end : match?.start;
        const groups = steps.flat();
        expect(stopped).toBe(match !== undefined);
        expect(textOf(groups)).toBe(whole.slice(0, cut));
        expect(releasedCodePoints).toBe([...whole.slice(0, cut)].length);
        const inside = placesOf(tokens).filter(({ start }) => cut === undefined || start < cut);
        expect(groups.flatMap(({ offsets }) => offsets)).toEqual(
          inside.map(({ offset }) => offset),
        );
      }),
      { numRuns: 1500 },
    );
  });

  test("nothing that was released is ever taken back", () => {
    fc.assert(
      fc.property(outputTokens, outputTokens, stopStrings, (tokens, others, stops) => {
        const released = (all: readonly Uint8Array[]) =>
          textOf(run(all, stops).steps.slice(0, tokens.length).flat());
        const final = (all: readonly Uint8Array[]) => textOf(run(all, stops).steps.flat());
        expect(final(tokens).startsWith(released(tokens))).toBe(true);
        expect(final([...tokens, ...others]).startsWith(released(tokens))).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  test("a group has several tokens only where each goes on with a begun character", () => {
    fc.assert(
      fc.property(outputTokens, (tokens) => {
        const groups = run(tokens, []).steps.flat();
        const clean = placesOf(tokens).map(({ isClean }) => isClean);
        let first = 0;
        for (const { offsets } of groups) {
          const inner = tokens.slice(first + 1, first + offsets.length);
          for (const [place, token] of inner.entries()) {
            expect(token.length === 0 || clean[first + 1 + place] === false).toBe(true);
          }
          first += offsets.length;
        }
      }),
    );
  });

  test("stop strings are searched only behind the tokens that must come first", () => {
    fc.assert(
      fc.property(outputTokens, stopStrings, fc.nat(6), (tokens, stops, searchAfterTokens) => {
        const { steps } = run(tokens, stops, { searchAfterTokens });
        const whole = decodeWhole(concatenate(tokens));
        const places = placesOf(tokens);
        const origin = places.find(({ isFirst }, token) => isFirst && token >= searchAfterTokens);
        const match = origin && searchPlainly(whole, stops, origin.start);
        expect(textOf(steps.flat())).toBe(whole.slice(0, match?.start));
        const counted = steps.flat().flatMap(({ offsets }) => offsets).length;
        expect(counted).toBeGreaterThanOrEqual(Math.min(searchAfterTokens, tokens.length));
      }),
      { numRuns: 500 },
    );
  });
});

test("tokens of held text are released later as groups of their own, in order", () => {
  const { steps } = run([">", ">>", "x"].map(bytesOf), [">>>> UPDATED"]);
  expect(steps).toEqual([
    [],
    [],
    [
      { text: ">", offsets: [0] },
      { text: ">>", offsets: [1] },
      { text: "x", offsets: [3] },
    ],
    [],
  ]);
});

test("a part of a character rides with the token that completes it", () => {
  const { steps } = run([Uint8Array.of(0xe9, 0x80), Uint8Array.of(0x82), bytesOf("a")], []);
  expect(steps.flat()).toEqual([
    { text: "适", offsets: [0, 0] },
    { text: "a", offsets: [1] },
  ]);
});

test("a part of a character that nothing completes becomes U+FFFD with its own token", () => {
  const { steps } = run([Uint8Array.of(0xe9, 0x80), bytesOf("a"), Uint8Array.of(0xe9)], []);
  expect(steps).toEqual([
    [],
    [
      { text: "\ufffd", offsets: [0] },
      { text: "a", offsets: [1] },
    ],
    [],
    [{ text: "\ufffd", offsets: [2] }],
  ]);
});

test("a begun character of a token that must come first is not searched, whatever follows", () => {
  const tokens = [Uint8Array.of(0xf4), Uint8Array.of()];
  const { steps, stopped } = run(tokens, ["\ufffd"], { searchAfterTokens: 1 });
  expect(textOf(steps.flat())).toBe("\ufffd");
  expect(stopped).toBe(false);
});

test("a token that the match cuts stays, tokens inside the match go", () => {
  const { steps, stopped } = run(["ab", "cX", "Y", "z"].map(bytesOf), ["XY"]);
  expect(stopped).toBe(true);
  expect(steps.flat()).toEqual([
    { text: "ab", offsets: [0] },
    { text: "c", offsets: [2] },
  ]);
});

test("a match at the very start leaves nothing", () => {
  expect(run(["X", "Y"].map(bytesOf), ["XY"]).steps.flat()).toEqual([]);
});

test("a token without text right before a match is not part of the text", () => {
  const { steps } = run(["a", "", "X"].map(bytesOf), ["X"]);
  expect(steps.flat()).toEqual([{ text: "a", offsets: [0] }]);
});
