/** What a row of the bench is: the sides it measures, what it does with each, what it compares. */
import type { ArmId } from "./arms.ts";
import type { BareWork } from "./bare.ts";
import type { Prompts } from "./prompts.ts";
import type { Series } from "./report.ts";
import type { Sizes } from "./sizes.ts";
import type { Target } from "./target.ts";
import type { LinePlan } from "./verdict.ts";

/** A measured value; `bound`: it was ended at its limit and is in truth no better. */
export type Reading = number | { readonly value: number; readonly bound: true };

export interface Trace {
  readonly title: string;
  readonly points: readonly (readonly [number, number])[];
}

export interface Readings {
  /** By the key of their series. */
  readonly values: Readonly<Record<string, Reading>>;
  readonly traces?: readonly Trace[];
}

export interface MeasureContext {
  readonly target: Target;
  readonly prompts: Prompts;
  readonly sizes: Sizes;
  /** Requests of the row `memory`. */
  readonly requests: number;
  /** Bytes of the model file and of one server's key-value cache. */
  readonly modelBytes: number;
  readonly cacheBytes: number;
  /** What one engine is expected to take in all. */
  readonly engineBytes: number;
  /** A server of the measured model under several names, within a memory limit. */
  readonly startPool: (names: readonly string[], memoryBytes: number) => Promise<Target>;
  readonly signal: AbortSignal;
}

export interface Row {
  /** As `--rows` names it. */
  readonly id: string;
  readonly title: string;
  /** What is done and how it is measured, in one paragraph. */
  readonly explanation: string;
  readonly shape: keyof Sizes["shapes"];
  readonly series: readonly Series[];
  readonly arms: readonly ArmId[];
  /** Arms that take long and decide nothing: measured in the first round only. */
  readonly once?: readonly ArmId[];
  readonly measure: (context: MeasureContext) => Promise<Readings>;
  /** What the bare loops do for this row, for how many tokens, into which series. */
  readonly bare?: {
    readonly work: BareWork;
    readonly tokens: (sizes: Sizes) => number;
    readonly series: string;
  };
  readonly lines: readonly LinePlan[];
  /** Only when it is named: it takes long. */
  readonly named?: true;
  /** One round whatever was asked for. */
  readonly single?: true;
  /** One measurement may take this long. */
  readonly limitMs?: number;
}

export const atLeast = (value: number) => ({ kind: "at least", value }) as const;
export const atMost = (value: number) => ({ kind: "at most", value }) as const;
