/** What the three numerics modes mean for loading a model, for its context and for each step. */
import type { ModelFacts } from "./model.ts";
import { isFloatType } from "./tensor-types.ts";

export const numericsModes = ["fast", "reproducible", "exact"] as const;
/**
 * `fast`: whatever the library finds quickest. `reproducible`: one request gives the same bytes,
 * whatever else runs. `exact`: also, generating a text and scoring it agree to the bit.
 */
export type NumericsMode = (typeof numericsModes)[number];

export interface NumericsPlan {
  readonly mode: NumericsMode;
  /** Flash attention sums in an order that depends on the batch and on the thread count. */
  readonly flashAttention: "auto" | "off";
  /** Weights repacked for speed: kernels for one row and for several then differ in most types. */
  readonly repackWeights: boolean;
  /**
   * Each generating sequence evaluates a second row at the next position, with logits, and drops
   * it: one row alone takes another kernel than several.
   */
  readonly pairDecodeRows: boolean;
  /** Whether the cache made while generating may serve as a later prompt's prefix. */
  readonly reuseGenerated: boolean;
  /**
   * Rows of one call that compute logits, at least: the last product counts its rows, too. The
   * backend sees to it.
   */
  readonly outputRowsMin: 1 | 2;
}

/** The types whose kernels give equal bits for one row and for several, repacked or not. */
const exactTypes: ReadonlySet<string> = new Set(["Q4_0", "Q8_0"]);

/** The plan for a mode and the types of the model's matrices (`GgufHeader.matrixTypes`). */
export function planNumerics(mode: NumericsMode, matrixTypes: ReadonlySet<string>): NumericsPlan {
  if (mode === "fast") {
    return {
      mode,
      flashAttention: "auto",
      repackWeights: true,
      pairDecodeRows: false,
      reuseGenerated: true,
      outputRowsMin: 1,
    };
  }
  const types = [...matrixTypes];
  const floats = types.some(isFloatType);
  return {
    mode,
    flashAttention: "off",
    repackWeights: types.length > 0 && types.every((type) => exactTypes.has(type)),
    pairDecodeRows: mode === "exact" || floats,
    reuseGenerated: mode === "exact",
    outputRowsMin: floats ? 2 : 1,
  };
}

/**
 * The plan that a loaded model can follow. Recurrent state cannot drop a second row again: such
 * models go without, and generating with float weights may then vary with what else runs. Throws
 * a RangeError where `exact` was asked for.
 */
export function restrictNumerics(
  plan: NumericsPlan,
  facts: Pick<ModelFacts, "isRecurrent" | "isHybrid">,
): NumericsPlan {
  if (!facts.isRecurrent && !facts.isHybrid) return plan;
  if (plan.mode === "exact") {
    throw new RangeError(
      "This model keeps recurrent state, which exact numerics cannot serve; use reproducible.",
    );
  }
  return { ...plan, pairDecodeRows: false };
}
