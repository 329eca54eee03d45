/** What passes between `models optimize` and the process that measures one model file once. */
import type { NumericsMode } from "../llama/numerics.ts";

export interface MeasureOrder {
  readonly path: string;
  readonly numerics: NumericsMode;
  readonly threads: number;
  readonly text: string;
  /** Score the whole text, not only as much as the speed needs. */
  readonly wholeText: boolean;
}

/** Tokens a second. */
export interface Speeds {
  /** Reading a prompt of which only the last row's logits are needed. */
  readonly read: number;
  /** Writing, one stream. */
  readonly write: number;
  /** Scoring: the logits of every row, and the logprob of the token that follows. */
  readonly score: number;
}

export interface Measurement {
  readonly speeds: Speeds;
  /** Natural logarithms, one for each scored token of the text; empty unless it was asked for. */
  readonly logprobs: readonly number[];
  /** Tokens of the text beyond `textTokensMax`, which were left out. */
  readonly tokensLeftOut: number;
}

export type MeasureReply = { readonly measured: Measurement } | { readonly failed: string };

/** Of a longer text only the beginning is scored. */
export const textTokensMax = 16_384;
/** A text of fewer tokens says nothing about a model. */
export const textTokensMin = 32;
