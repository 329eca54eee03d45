import { describe, expect, test } from "vitest";
import type { Job } from "../engine/engine.ts";
import { type HeldPrompt, keptLength, type MatchRules } from "./prefix-match.ts";

const strict: MatchRules = { rowsMin: 2, cutsAnywhere: true };

function job(prompt: number[], overrides: Partial<Job> = {}): Job {
  return {
    prompt,
    maxTokens: 5,
    scoreFrom: undefined,
    topLogprobs: undefined,
    ...overrides,
  } as Job;
}

function held(
  tokens: number[],
  known: Partial<Record<"reusable" | "scored" | "row", number>> = {},
) {
  const { reusable = tokens.length, scored = 0, row = -1 } = known;
  const prompt: HeldPrompt = {
    tokens,
    reusableLength: reusable,
    hasScore: (index, topCount) => index <= scored && topCount <= 2,
    hasRow: (position) => position === row,
  };
  return prompt;
}

describe("without scores", () => {
  test("the common beginning is kept, but two rows are left to compute", () => {
    expect(keptLength(job([1, 2, 3, 4, 5]), held([1, 2, 3, 9]), strict)).toBe(3);
    expect(keptLength(job([1, 2, 3, 4, 5]), held([1, 2, 3, 4, 5]), strict)).toBe(3);
    expect(keptLength(job([1, 2, 3]), held([1, 2, 3]), { ...strict, rowsMin: 1 })).toBe(2);
  });

  test("an equal prompt whose last row is known needs nothing", () => {
    expect(keptLength(job([1, 2, 3]), held([1, 2, 3, 8, 9], { row: 2 }), strict)).toBe(3);
    expect(keptLength(job([1, 2, 3]), held([1, 2, 3, 8, 9], { row: 4 }), strict)).toBe(1);
  });

  test("generated tokens are not used where only prompts may be", () => {
    expect(keptLength(job([1, 2, 3, 4, 5, 6]), held([1, 2, 3, 4], { reusable: 2 }), strict)).toBe(
      2,
    );
  });

  test("a sequence that cannot be cut is used whole or not at all", () => {
    const rules = { ...strict, cutsAnywhere: false };
    expect(keptLength(job([1, 2, 3, 4]), held([1, 2]), rules)).toBe(2);
    expect(keptLength(job([1, 2, 3, 4]), held([1, 2, 9]), rules)).toBe(0);
  });

  test("a prompt too short to leave two rows is read anew", () => {
    expect(keptLength(job([1]), held([1, 2]), strict)).toBe(0);
    expect(keptLength(job([1, 2]), held([1, 2]), strict)).toBe(0);
  });
});

describe("with scores", () => {
  const scored = (prompt: number[], topLogprobs = 1) =>
    job(prompt, { scoreFrom: 1, maxTokens: 0, topLogprobs });

  test("keeps no more than what has scores, since they cannot be had again", () => {
    expect(keptLength(scored([1, 2, 3, 4, 5, 6]), held([1, 2, 3, 4, 5]), strict)).toBe(0);
    expect(
      keptLength(scored([1, 2, 3, 4, 5, 6]), held([1, 2, 3, 4, 5], { scored: 2 }), strict),
    ).toBe(2);
  });

  test("the row before the first differing token is computed again", () => {
    // Token 3 differs; its score comes from row 2, so tokens 0 and 1 are kept.
    const other = held([1, 2, 3, 9, 9, 9], { scored: 5 });
    expect(keptLength(scored([1, 2, 3, 4, 5, 6]), other, strict)).toBe(2);
  });

  test("an equal prompt with all scores needs nothing", () => {
    expect(keptLength(scored([1, 2, 3]), held([1, 2, 3], { scored: 2 }), strict)).toBe(3);
  });

  test("scores with too few alternatives do not count", () => {
    expect(keptLength(scored([1, 2, 3, 4], 3), held([1, 2, 3, 4], { scored: 3 }), strict)).toBe(0);
  });

  test("tokens before the scored part need no scores", () => {
    const late = job([1, 2, 3, 4, 5, 6], { scoreFrom: 4, maxTokens: 0 });
    expect(keptLength(late, held([1, 2, 3, 4, 5, 6]), strict)).toBe(3);
  });
});
