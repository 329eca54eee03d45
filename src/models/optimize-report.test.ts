import { describe, expect, test } from "vitest";
import { type Candidate, compareTypes, median, recommend } from "./optimize-report.ts";

/** All three speeds alike; the logprobs are those of the first round. */
function candidate(
  type: string,
  speeds: readonly number[],
  logprobs: readonly number[],
): Candidate {
  const rounds = speeds.map((speed, round) => ({
    speeds: { read: speed, write: speed, score: speed },
    logprobs: round === 0 ? logprobs : [],
    tokensLeftOut: 0,
  }));
  return { type, fileType: undefined, bytes: 1, rounds };
}

const original = candidate("Q4_1", [100, 400, 110], [-1, -2, -3]);

describe("figures", () => {
  test("are medians, and differences to the original token by token", () => {
    const other = candidate("Q8_0", [220, 1, 230], [-1.5, -2, -2]);
    const [base, found] = compareTypes(original, [other]);
    expect(base.speeds.read).toBe(110);
    expect(found?.speedup).toBeCloseTo(2, 12);
    expect(found?.quality).toEqual({
      meanLogprob: -5.5 / 3,
      meanDifference: 0.5,
      largestDifference: 1,
    });
  });

  test("of speed weigh reading, writing and scoring alike", () => {
    const round = { speeds: { read: 220, write: 55, score: 880 }, logprobs: [], tokensLeftOut: 0 };
    const other: Candidate = { type: "X", fileType: undefined, bytes: 1, rounds: [round] };
    expect(compareTypes(original, [other])[1]?.speedup).toBeCloseTo(Math.cbrt(2 * 0.5 * 8), 12);
  });

  test("the median of an even number lies in the middle", () => {
    expect(median([4, 1, 3, 2])).toBe(2.5);
    expect(median([3])).toBe(3);
  });
});

describe("the recommendation", () => {
  const among = (...others: Candidate[]) => recommend(compareTypes(original, others))?.type;
  const shifted = (by: number) => [-1 + by, -2 + by, -3 + by];

  test("is the fastest type that is as good", () => {
    const fast = candidate("FAST", [300], shifted(-0.009));
    const faster = candidate("FASTER", [400], shifted(-0.011));
    const slow = candidate("SLOW", [200], shifted(0));
    expect(among(slow, faster, fast)).toBe("FAST");
  });

  test("takes one that is better than the original, too", () => {
    expect(among(candidate("BETTER", [150], shifted(0.2)))).toBe("BETTER");
  });

  test("is none for a gain that noise might make", () => {
    expect(among(candidate("SAME", [114], shifted(0)))).toBeUndefined();
  });
});
