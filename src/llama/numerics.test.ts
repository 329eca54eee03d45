import { describe, expect, test } from "vitest";
import { planNumerics, restrictNumerics } from "./numerics.ts";

const types = {
  q8: new Set(["Q8_0"]),
  q4: new Set(["Q4_0", "Q8_0"]),
  k: new Set(["Q4_K", "Q6_K"]),
  mixed: new Set(["Q8_0", "F32"]),
  half: new Set(["F16"]),
};

describe("a numerics plan", () => {
  test("fast leaves everything to the library", () => {
    for (const matrixTypes of Object.values(types)) {
      expect(planNumerics("fast", matrixTypes)).toMatchObject({
        flashAttention: "auto",
        repackWeights: true,
        pairDecodeRows: false,
      });
    }
  });

  test("the others do without flash attention", () => {
    for (const mode of ["reproducible", "exact"] as const) {
      for (const matrixTypes of Object.values(types)) {
        const plan = planNumerics(mode, matrixTypes);
        expect(plan).toMatchObject({ mode, flashAttention: "off" });
      }
    }
  });

  test("weights are repacked only in types whose kernels agree", () => {
    const repacks = (matrixTypes: ReadonlySet<string>): boolean =>
      planNumerics("reproducible", matrixTypes).repackWeights;
    expect(Object.values(types).map(repacks)).toEqual([true, true, false, false, false]);
    expect(repacks(new Set())).toBe(false);
  });

  test("decode rows come in pairs: always in exact, with float weights in reproducible", () => {
    const pairs = (mode: "reproducible" | "exact"): boolean[] =>
      Object.values(types).map((matrixTypes) => planNumerics(mode, matrixTypes).pairDecodeRows);
    expect(pairs("exact")).toEqual([true, true, true, true, true]);
    expect(pairs("reproducible")).toEqual([false, false, false, true, true]);
  });

  test("recurrent models go without pairs, and without exact", () => {
    const recurrent = { isRecurrent: true, isHybrid: false };
    const plan = planNumerics("reproducible", types.half);
    expect(restrictNumerics(plan, recurrent).pairDecodeRows).toBe(false);
    expect(restrictNumerics(plan, { isRecurrent: false, isHybrid: true }).pairDecodeRows).toBe(
      false,
    );
    expect(restrictNumerics(plan, { isRecurrent: false, isHybrid: false })).toEqual(plan);
    const exact = planNumerics("exact", types.q8);
    expect(() => restrictNumerics(exact, recurrent)).toThrow(/recurrent state/);
  });

  test("only where generating equals reading may a generated cache be read on", () => {
    expect(planNumerics("exact", types.q8).reuseGenerated).toBe(true);
    expect(planNumerics("reproducible", types.q8).reuseGenerated).toBe(false);
  });
});
