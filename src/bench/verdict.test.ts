import { describe, expect, test } from "vitest";
import type { ArmId } from "./arms.ts";
import type { Figure, Series } from "./report.ts";
import { compare, verdictOf } from "./verdict.ts";

const series: readonly Series[] = [
  { key: "speed", title: "speed", unit: "tokens/s", better: "more" },
  { key: "time", title: "time", unit: "s", better: "less" },
];

const figure = (arm: ArmId, key: string, values: number[], bound = false): Figure => {
  return { arm, series: key, values, bound };
};

describe("a comparison", () => {
  test("divides our median by the other's", () => {
    const figures = [
      figure("fast", "speed", [90, 100, 150]),
      figure("peer", "speed", [80, 50, 60]),
    ];
    const plan = { title: "one", series: "speed", ours: "fast", other: "peer" } as const;
    const line = compare({ ...plan, bar: { kind: "at least", value: 1.5 } }, figures, series);
    expect(line.ratio).toBeCloseTo(100 / 60);
    expect(line).toMatchObject({ verdict: "met", known: "exactly", tunedRatio: null });
  });

  test("may take another series of the other side", () => {
    const figures = [figure("fast", "time", [2]), figure("peer", "speed", [8])];
    const plan = { title: "n", series: "time", otherSeries: "speed", ours: "fast" } as const;
    expect(compare({ ...plan, other: "peer" }, figures, series).ratio).toBe(0.25);
  });

  test("shows the tuned peer, and both sides out of the box", () => {
    const figures = [
      figure("fast", "speed", [100]),
      figure("reproducible", "speed", [90]),
      figure("peer", "speed", [50]),
      figure("peer-tuned", "speed", [80]),
      figure("peer-fetched", "speed", [45]),
    ];
    const plan = { title: "one", series: "speed", ours: "fast" } as const;
    const line = compare({ ...plan, other: "peer" }, figures, series);
    expect(line).toMatchObject({ ratio: 2, tunedRatio: 1.25, outOfTheBoxRatio: 2 });
    const bare = [...figures, figure("bare-fast", "speed", [100])];
    expect(compare({ ...plan, other: "bare-fast" }, bare, series).tunedRatio).toBeNull();
  });

  test("without another side the figure itself has to meet the bar", () => {
    const plan = { title: "share", series: "time", ours: "fast" } as const;
    const bar = { kind: "at most", value: 5 } as const;
    const line = compare({ ...plan, bar }, [figure("fast", "time", [4])], series);
    expect(line).toMatchObject({ other: null, ratio: 4, verdict: "met" });
  });

  test("says that a side is missing", () => {
    const plan = { title: "one", series: "speed", ours: "fast", other: "peer" } as const;
    const line = compare(plan, [figure("fast", "speed", [1])], series);
    expect(line).toMatchObject({ ratio: null, verdict: "not measured" });
  });

  test("with a speed of 0 on the other side is no comparison", () => {
    const figures = [figure("fast", "speed", [1]), figure("peer", "speed", [0])];
    const plan = { title: "one", series: "speed", ours: "fast", other: "peer" } as const;
    expect(compare(plan, figures, series).verdict).toBe("not measured");
  });
});

describe("a side that was ended at its limit", () => {
  const plan = { title: "one", series: "speed", ours: "fast", other: "peer" } as const;
  const bar = { kind: "at least", value: 30 } as const;

  test("makes the ratio a lower limit where it is the other's speed", () => {
    const cut = figure("peer", "speed", [2], true);
    const fast = (value: number) =>
      compare({ ...plan, bar }, [figure("fast", "speed", [value]), cut], series);
    expect(fast(80)).toMatchObject({ ratio: 40, known: "at least", verdict: "met" });
    expect(fast(40)).toMatchObject({ ratio: 20, known: "at least", verdict: "undecided" });
  });

  test("makes the ratio an upper limit where it is our speed", () => {
    const own = figure("fast", "speed", [20], true);
    const line = compare({ ...plan, bar }, [own, figure("peer", "speed", [2])], series);
    expect(line).toMatchObject({ ratio: 10, known: "at most", verdict: "missed" });
  });

  test("makes the ratio of times a lower limit where it is our time", () => {
    const figures = [figure("fast", "time", [20], true), figure("peer", "time", [10])];
    const line = compare({ ...plan, series: "time" }, figures, series);
    expect(line).toMatchObject({ ratio: 2, known: "at least" });
  });
});

test.each([
  [1.05, "exactly", "met"],
  [1.06, "exactly", "missed"],
  [1.0, "at most", "met"],
  [1.1, "at most", "undecided"],
  [1.1, "at least", "missed"],
  [1.0, "at least", "undecided"],
] as const)("a ratio of %s, known %s, against at most 1.05: %s", (ratio, known, verdict) => {
  expect(verdictOf({ ratio, known }, { kind: "at most", value: 1.05 })).toBe(verdict);
});
