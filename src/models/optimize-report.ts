/** What `models optimize` found: the figures of each weight type, and which one to take. */
import type { FileType } from "../llama/file-types.ts";
import type { NumericsMode } from "../llama/numerics.ts";
import type { Measurement, Speeds } from "./optimize-messages.ts";

/** How far the mean logprob of a token may fall for a type to be recommended. */
export const qualityTolerance = 0.01;
/** Gains below this share are within what a busy machine makes of the same file. */
export const gainMin = 0.05;

export interface Quality {
  /** Natural logarithm, mean over the scored tokens of the text. */
  readonly meanLogprob: number;
  /** Mean and largest absolute difference of a token's logprob to the original file's. */
  readonly meanDifference: number;
  readonly largestDifference: number;
}

export interface MeasuredType {
  /** As printed: `Q8_0`. */
  readonly type: string;
  /** Undefined for the file as it is. */
  readonly fileType: FileType | undefined;
  readonly bytes: number;
  /** Medians over the rounds. */
  readonly speeds: Speeds;
  /** Geometric mean of the three speeds, each as a multiple of the original's. */
  readonly speedup: number;
  readonly quality: Quality;
}

export interface FailedType {
  readonly type: string;
  readonly reason: string;
}

export interface OptimizeReport {
  readonly path: string;
  /** The original first, then the fastest first. */
  readonly measured: readonly [MeasuredType, ...MeasuredType[]];
  readonly failed: readonly FailedType[];
  /** Undefined: no type is faster and as good. */
  readonly recommended: MeasuredType | undefined;
  readonly numerics: NumericsMode;
  readonly threads: number;
  readonly rounds: number;
  readonly scoredTokens: number;
  readonly tokensLeftOut: number;
  /** Whether the original's weights had lost something before. */
  readonly requantised: boolean;
}

/** One weight type with what its rounds gave. */
export interface Candidate {
  readonly type: string;
  readonly fileType: FileType | undefined;
  readonly bytes: number;
  readonly rounds: readonly Measurement[];
}

/** Puts the figures together; `original` is what the others are compared with. */
export function compareTypes(
  original: Candidate,
  others: readonly Candidate[],
): readonly [MeasuredType, ...MeasuredType[]] {
  const baseSpeeds = medianSpeeds(original.rounds);
  const baseLogprobs = logprobsOf(original);
  const figuresOf = ({ type, fileType, bytes, rounds }: Candidate, logprobs: readonly number[]) => {
    const speeds = medianSpeeds(rounds);
    const speedup = speedupOf(speeds, baseSpeeds);
    return { type, fileType, bytes, speeds, speedup, quality: qualityOf(logprobs, baseLogprobs) };
  };
  const measured = others.map((each) => figuresOf(each, logprobsOf(each)));
  const sorted = measured.toSorted((left, right) => right.speedup - left.speedup);
  return [figuresOf(original, baseLogprobs), ...sorted];
}

/** The fastest type that is as good as the original; undefined when none is faster. */
export function recommend(
  measured: readonly [MeasuredType, ...MeasuredType[]],
): MeasuredType | undefined {
  const [original, ...others] = measured;
  const lowest = original.quality.meanLogprob - qualityTolerance;
  const good = others.filter(
    ({ quality, speedup }) => quality.meanLogprob >= lowest && speedup >= 1 + gainMin,
  );
  return good.toSorted((left, right) => right.speedup - left.speedup)[0];
}

function logprobsOf({ rounds }: Candidate): readonly number[] {
  return rounds.find(({ logprobs }) => logprobs.length > 0)?.logprobs ?? [];
}

function medianSpeeds(rounds: readonly Measurement[]): Speeds {
  const of = (name: keyof Speeds): number => median(rounds.map(({ speeds }) => speeds[name]));
  return { read: of("read"), write: of("write"), score: of("score") };
}

function speedupOf(speeds: Speeds, base: Speeds): number {
  const ratios = [
    speeds.read / base.read,
    speeds.write / base.write,
    speeds.score / base.score,
  ] as const;
  return Math.cbrt(ratios[0] * ratios[1] * ratios[2]);
}

function qualityOf(logprobs: readonly number[], base: readonly number[]): Quality {
  const differences = logprobs.map((value, index) => Math.abs(value - (base[index] ?? value)));
  return {
    meanLogprob: mean(logprobs),
    meanDifference: mean(differences),
    largestDifference: differences.reduce((largest, value) => Math.max(largest, value), 0),
  };
}

function mean(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0) / Math.max(1, values.length);
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? upper) + upper) / 2;
}
