/** Figures, ratios and bars in words, the same in tables, on the page and in the chart. */
import type { Bar, Figure, Line, RowReport, Series, Verdict } from "./report.ts";
import { median, rangeOf } from "./statistics.ts";

/** `141 (133-150)`; `under 1.2` where a speed was cut at its limit, `over` for times. */
export function figureText(figure: Figure, series: Series): string {
  const value = numberText(median(figure.values));
  if (figure.bound) return `${series.better === "more" ? "under" : "over"} ${value}`;
  if (figure.values.length === 1) return value;
  const { low, high } = rangeOf(figure.values);
  return `${value} (${numberText(low)}-${numberText(high)})`;
}

/** Three digits that tell something, and no more. */
export function numberText(value: number): string {
  const size = Math.abs(value);
  if (size >= 99.95) return value.toFixed(0);
  if (size >= 9.995) return value.toFixed(1);
  return value.toFixed(2);
}

export function ratioText({ ratio, known, other }: Line, unit: string): string {
  if (ratio === null) return "";
  const word = known === "exactly" ? "" : `${known} `;
  return `${word}${numberText(ratio)}${other === null ? ` ${unit}` : ""}`;
}

export function barText(bar: Bar | null, unit = ""): string {
  if (bar === null) return "";
  const sign = bar.kind === "at least" ? "≥" : "≤";
  return `${sign} ${numberText(bar.value)}${unit === "" ? "" : ` ${unit}`}`;
}

export const verdictTexts: Readonly<Record<Verdict, string>> = {
  met: "met",
  missed: "**missed**",
  undecided: "undecided",
  "not measured": "not measured",
  shown: "no bar",
};

export function findFigure(row: RowReport, arm: string, series: string): Figure | undefined {
  return row.figures.find((figure) => figure.arm === arm && figure.series === series);
}

export function findSeries(row: RowReport, key: string): Series {
  const found = row.series.find((series) => series.key === key);
  if (found === undefined) throw new Error(`the row ${row.id} has no series ${key}`);
  return found;
}

/** A side of a line: its figure and what it is, `141 (133-150)`; "" where there is none. */
export function sideText(row: RowReport, arm: string | null, seriesKey: string): string {
  const figure = arm === null ? undefined : findFigure(row, arm, seriesKey);
  return figure === undefined ? "" : figureText(figure, findSeries(row, seriesKey));
}

export function armName(row: RowReport, id: string): string {
  return row.arms.find((arm) => arm.id === id)?.name ?? id;
}
