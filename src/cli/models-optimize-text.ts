/** The findings of `models optimize` as a plain text table and a sentence, and as JSON. */
import { basename } from "node:path";
import { defaultModel } from "../models/default-model.ts";
import {
  gainMin,
  type MeasuredType,
  type OptimizeReport,
  qualityTolerance,
} from "../models/optimize-report.ts";
import { megabytes } from "../models/progress.ts";
import { shellWord } from "./shell-word.ts";
import { type Alignment, columnLines } from "./text-columns.ts";

/** The head's two lines. */
const columns = [
  ["", "type"],
  ["", "size"],
  ["read", "tokens/s"],
  ["write", "tokens/s"],
  ["score", "tokens/s"],
  ["", "speed"],
  ["mean", "logprob"],
  ["mean", "difference"],
  ["largest", "difference"],
] as const;

/** `given`: what the user named, for the command that is proposed. Ends with a line break. */
export function optimizeText(report: OptimizeReport, given: string | undefined): string {
  const [original, ...others] = report.measured;
  const rows = [
    columns.map(([upper]) => upper),
    columns.map(([, lower]) => lower),
    rowOf(original, true),
    ...others.map((each) => rowOf(each, false)),
  ];
  const lines = [
    `${basename(report.path)} (${original.type}), ${conditionsOf(report)}`,
    "",
    ...columnLines(rows, alignments),
    "",
    "read: a prompt; write: one stream; score: all logprobs of a text. speed: the three together, as a",
    `multiple of the original's. logprob: of the ${report.scoredTokens} tokens of a text; difference: of each of them`,
    "to the original's.",
    ...report.failed.map(({ type, reason }) => `${type} could not be measured: ${reason}`),
    ...(report.tokensLeftOut > 0
      ? [`The text was cut: its last ${report.tokensLeftOut} tokens were left out.`]
      : []),
    ...(report.requantised ? requantisedNote(original) : []),
    "",
    ...recommendationOf(report, given),
  ];
  return `${lines.join("\n")}\n`;
}

function conditionsOf({ numerics, threads, rounds }: OptimizeReport): string {
  const plural = (count: number, word: string) => `${count} ${word}${count === 1 ? "" : "s"}`;
  const medians = rounds === 1 ? "one round" : `medians of ${rounds} rounds`;
  return `numerics ${numerics}, ${plural(threads, "thread")}, ${medians}`;
}

function rowOf({ type, bytes, speeds, speedup, quality }: MeasuredType, original: boolean) {
  const difference = (value: number) => (original ? "-" : value.toFixed(3));
  return [
    original ? `${type} *` : type,
    megabytes(bytes),
    ...[speeds.read, speeds.write, speeds.score].map(speedText),
    `${speedup.toFixed(2)} x`,
    quality.meanLogprob.toFixed(4),
    difference(quality.meanDifference),
    difference(quality.largestDifference),
  ];
}

function speedText(tokensPerSecond: number): string {
  return tokensPerSecond.toFixed(tokensPerSecond < 10 ? 1 : 0);
}

/** The first column to the left, all others to the right. */
const alignments: readonly Alignment[] = columns.map((_, index) =>
  index === 0 ? "left" : "right",
);

function requantisedNote({ type }: MeasuredType): readonly string[] {
  return [
    `* The file is quantised already (${type}): the others were made of it and inherit its losses. If`,
    "  you have the model as F16, BF16 or F32, convert that one.",
  ];
}

function recommendationOf(report: OptimizeReport, given: string | undefined): readonly string[] {
  const { recommended } = report;
  const [original] = report.measured;
  if (recommended === undefined) {
    return [
      `Keep ${original.type}: no other type is more than ${gainMin * 100} % faster with a mean logprob at most`,
      `${qualityTolerance} lower.`,
    ];
  }
  const { type, speedup, quality } = recommended;
  const means = `${quality.meanLogprob.toFixed(4)} against ${original.quality.meanLogprob.toFixed(4)}`;
  return [
    `Take ${type}: it is the fastest of those whose mean logprob is at most ${qualityTolerance} lower than the`,
    `original's (${means}), ${speedup.toFixed(1)} times as fast as that.`,
    ...(given === undefined && type === defaultModel.servedType
      ? ["That is what the default model is served as already."]
      : [`  ${convertCommand(recommended, given)}`]),
  ];
}

function convertCommand({ fileType }: MeasuredType, given: string | undefined): string {
  const file = given === undefined ? "" : `${shellWord(given)} `;
  return `npx completionist models optimize ${file}--convert ${fileType}`;
}

/** For programs: one JSON object. */
export function optimizeJson(report: OptimizeReport, given: string | undefined): string {
  const { recommended, measured, ...rest } = report;
  const [original] = measured;
  const types = measured.map((each) => ({
    type: each.type,
    original: each === original,
    bytes: each.bytes,
    read_tokens_per_second: each.speeds.read,
    write_tokens_per_second: each.speeds.write,
    score_tokens_per_second: each.speeds.score,
    speedup: each.speedup,
    mean_logprob: each.quality.meanLogprob,
    mean_difference: each.quality.meanDifference,
    largest_difference: each.quality.largestDifference,
  }));
  const answer = {
    file: rest.path,
    numerics: rest.numerics,
    threads: rest.threads,
    rounds: rest.rounds,
    scored_tokens: rest.scoredTokens,
    tokens_left_out: rest.tokensLeftOut,
    requantised: rest.requantised,
    tolerance: qualityTolerance,
    types,
    failed: rest.failed,
    recommended: recommended?.type ?? null,
    command: recommended === undefined ? null : convertCommand(recommended, given),
  };
  return `${JSON.stringify(answer, undefined, 2)}\n`;
}
