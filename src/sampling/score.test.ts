import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { logprobMin, scoreToken, topTokens } from "./score.ts";
import { anyLogits, rankedIds } from "./testing/logits.ts";

/** The definition, with every term. */
function logprobsByDefinition(logits: Float32Array): number[] {
  const values = [...logits].map((logit) => (Number.isNaN(logit) ? -Infinity : logit));
  const max = Math.max(...values);
  const sum = values.reduce((total, value) => total + Math.exp(value - max), 0);
  return values.map((value) => value - max - Math.log(sum));
}

describe("for any logits", () => {
  test("logprobs are those of the definition, as float32 and never below -9999", () => {
    fc.assert(
      fc.property(anyLogits, fc.nat(), (logits, seed) => {
        const token = seed % logits.length;
        const expected = logprobsByDefinition(logits)[token] ?? 0;
        const { logprob } = scoreToken(logits, token, 0);
        expect(logprob).toBe(Math.fround(logprob));
        const bounded = Number.isFinite(expected) ? Math.max(expected, logprobMin) : logprobMin;
        expect(Math.abs(logprob - bounded)).toBeLessThanOrEqual(1e-6 + Math.abs(bounded) * 1e-6);
      }),
      { numRuns: 300 },
    );
  });

  test("top lists the likeliest tokens, equals by lower id, the token with its own number", () => {
    fc.assert(
      fc.property(anyLogits, fc.integer({ min: 0, max: 20 }), fc.nat(), (logits, count, seed) => {
        const token = seed % logits.length;
        const { logprob, top } = scoreToken(logits, token, count);
        expect(top.map(([id]) => id)).toEqual(rankedIds(logits).slice(0, count));
        for (const [id, value] of top) {
          expect(value).toBe(scoreToken(logits, id, 0).logprob);
          if (id === token) expect(value).toBe(logprob);
        }
      }),
      { numRuns: 300 },
    );
  });
});

test("a uniform row gives minus the logarithm of its length", () => {
  const { logprob } = scoreToken(new Float32Array(49_152).fill(3), 7, 0);
  expect(logprob).toBe(Math.fround(-Math.log(49_152)));
});

test("a logprob near zero is exact to six digits", () => {
  const logits = new Float32Array(49_152).fill(-2);
  logits[5] = 20;
  const expected = -Math.log1p(49_151 * Math.exp(-22));
  const { logprob } = scoreToken(logits, 5, 0);
  expect(Math.abs(logprob / expected - 1)).toBeLessThan(1e-6);
});

test("rows with nothing finite and rows with an infinity give -9999 instead of no number", () => {
  const rows = [
    [-Infinity, -Infinity],
    [Number.NaN, Number.NaN],
    [Infinity, 0],
  ];
  for (const row of rows) {
    expect(scoreToken(Float32Array.from(row), 1, 2).logprob).toBe(logprobMin);
  }
});

test("very distant logits stay finite", () => {
  const { logprob } = scoreToken(Float32Array.of(3e38, -3e38), 1, 0);
  expect(logprob).toBe(logprobMin);
  expect(topTokens(Float32Array.of(1, 2, 2, 3), 3)).toEqual([3, 1, 2]);
});
