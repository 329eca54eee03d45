/** From figures to comparisons: ratios of medians, and whether they meet their bars. */
import type { ArmId } from "./arms.ts";
import type { Bar, Figure, Line, Series, Verdict } from "./report.ts";
import { median } from "./statistics.ts";

export interface LinePlan {
  readonly title: string;
  readonly series: string;
  readonly ours: ArmId;
  /** Without it the bar is for the figure itself. */
  readonly other?: ArmId;
  /** Where the other side did something else. */
  readonly otherSeries?: string;
  /** Without it the line is only shown. */
  readonly bar?: Bar;
}

type Known = Line["known"];

/** What the stricter modes cost in a row: lines without a bar. */
export function modeLines(title: string, series: string): readonly LinePlan[] {
  return (["reproducible", "exact"] as const).map((ours) => {
    return { title: `${title}, ${ours} against fast`, series, ours, other: "fast" as const };
  });
}

interface Ratio {
  readonly ratio: number;
  readonly known: Known;
}

export function compare(
  plan: LinePlan,
  figures: readonly Figure[],
  series: readonly Series[],
): Line {
  const { title, ours, other, bar } = plan;
  const otherSeries = plan.otherSeries ?? plan.series;
  const better = series.find(({ key }) => key === plan.series)?.better ?? "more";
  const find = (arm: ArmId, key: string) =>
    figures.find((figure) => figure.arm === arm && figure.series === key);
  const own = find(ours, plan.series);
  const result =
    other === undefined ? absolute(own, better) : ratioOf(own, find(other, otherSeries), better);
  const againstPeer = other === "peer";
  const beside = (left: ArmId, right: ArmId) =>
    againstPeer
      ? (ratioOf(find(left, plan.series), find(right, otherSeries), better)?.ratio ?? null)
      : null;
  return {
    title,
    series: plan.series,
    otherSeries,
    ours,
    other: other ?? null,
    ratio: result?.ratio ?? null,
    known: result?.known ?? "exactly",
    bar: bar ?? null,
    verdict: verdictOf(result, bar),
    tunedRatio: beside(ours, "peer-tuned"),
    outOfTheBoxRatio: beside("reproducible", "peer-fetched"),
  };
}

function absolute(own: Figure | undefined, better: Series["better"]): Ratio | undefined {
  if (own === undefined) return undefined;
  return { ratio: median(own.values), known: own.bound ? boundOf(better) : "exactly" };
}

/** A figure that was cut is in truth no better: a speed is at most, a time at least, what it says. */
function boundOf(better: Series["better"]): Known {
  return better === "more" ? "at most" : "at least";
}

function ratioOf(
  own: Figure | undefined,
  other: Figure | undefined,
  better: Series["better"],
): Ratio | undefined {
  if (own === undefined || other === undefined) return undefined;
  const ratio = median(own.values) / median(other.values);
  if (!Number.isFinite(ratio)) return undefined;
  // Where both were cut nothing is known; the ratio is then said of ours, to our disadvantage.
  if (own.bound) return { ratio, known: boundOf(better) };
  if (other.bound) return { ratio, known: better === "more" ? "at least" : "at most" };
  return { ratio, known: "exactly" };
}

export function verdictOf(result: Ratio | undefined, bar: Bar | undefined): Verdict {
  if (result === undefined) return "not measured";
  if (bar === undefined) return "shown";
  const { ratio, known } = result;
  const meets = bar.kind === "at least" ? ratio >= bar.value : ratio <= bar.value;
  if (known === "exactly") return meets ? "met" : "missed";
  // A limit on the bar's own side decides what it meets, one on the other side what it misses.
  if (known === bar.kind) return meets ? "met" : "undecided";
  return meets ? "undecided" : "missed";
}
