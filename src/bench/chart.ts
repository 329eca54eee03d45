/**
 * The verdicts as a picture: for each line how many times better or worse than the other, on a
 * logarithmic axis around equal, with a mark at the bar. Verdicts are told by shape and word, too,
 * never by colour alone.
 */
import { findSeries, numberText } from "./figure-text.ts";
import type { Line, Report, RowReport, Series } from "./report.ts";

interface Mark {
  readonly title: string;
  /** How many times better than the other; under 1: worse. */
  readonly times: number;
  /** The least that the bar asks for, in the same measure. */
  readonly wanted: number | undefined;
  /** In truth it may be more. */
  readonly atLeast: boolean;
  readonly verdict: "met" | "missed" | "shown" | "undecided";
}

const width = 860;
const rowHeight = 34;
const top = 64;
const left = 20;
const plotLeft = 20;
const plotRight = width - 132;

/** Lines that compare this server with another side and were measured. */
export function marksOf(rows: readonly RowReport[]): readonly Mark[] {
  return rows.flatMap((row) =>
    row.lines.flatMap((line) => {
      const mark = markOf(line, findSeries(row, line.series));
      return mark === undefined ? [] : [mark];
    }),
  );
}

function markOf(line: Line, { better }: Series): Mark | undefined {
  const { title, other, ratio, bar, verdict, known } = line;
  if (other === null || ratio === null || verdict === "not measured") return undefined;
  if (!(ratio > 0) || !/^(peer|bare)/.test(other)) return undefined;
  const gain = (value: number): number => (better === "more" ? value : 1 / value);
  return {
    title,
    times: gain(ratio),
    wanted: bar === null ? undefined : gain(bar.value),
    atLeast: known === (better === "more" ? "at least" : "at most"),
    verdict,
  };
}

/** An SVG picture that suits light and dark pages. */
export function chart(report: Report): string {
  const marks = marksOf(report.rows);
  const height = top + marks.length * rowHeight + 44;
  const scale = scaleOf(marks);
  const other = report.peer === null ? "the bare loop" : "llama-server or the bare loop";
  const heading = `completionist against ${other}`;
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" ` +
      `aria-labelledby="title description" font-family="system-ui, sans-serif" font-size="13">`,
    `<title id="title">${escapeXml(heading)}</title>`,
    `<desc id="description">${escapeXml(marks.map(describe).join(" "))}</desc>`,
    style,
    `<rect class="page" width="${width}" height="${height}"/>`,
    `<text class="ink" x="${left}" y="24" font-size="16" font-weight="600">${escapeXml(heading)}</text>`,
    `<text class="soft" x="${left}" y="44">times as fast (logarithmic); the upright mark is the bar</text>`,
    ...axis(scale, height),
    ...marks.map((mark, index) => drawMark(mark, top + index * rowHeight, scale)),
    "</svg>",
  ];
  return `${parts.join("\n")}\n`;
}

const style = `<style>
.page { fill: #ffffff } .ink { fill: #1f2328 } .soft { fill: #59636e } .line { stroke: #d1d9e0 }
.one { stroke: #59636e } .met { fill: #0072b2 } .missed { fill: #d55e00 } .shown { fill: #7d8590 }
.bar { fill: #1f2328 }
.halo { paint-order: stroke; stroke: #ffffff; stroke-width: 4px; stroke-linejoin: round }
@media (prefers-color-scheme: dark) {
.page { fill: #0d1117 } .ink { fill: #e6edf3 } .soft { fill: #9198a1 } .line { stroke: #30363d }
.one { stroke: #9198a1 } .met { fill: #56b4e9 } .missed { fill: #f0924c } .shown { fill: #7d8590 }
.bar { fill: #e6edf3 } .halo { stroke: #0d1117 }
}
</style>`;

type Scale = (times: number) => number;

interface Axis {
  readonly place: Scale;
  readonly ticks: readonly number[];
}

function scaleOf(marks: readonly Mark[]): Axis {
  const all = marks.flatMap(({ times, wanted }) => [times, wanted ?? 1]);
  const exponents = all.filter((value) => value > 0).map((value) => Math.log2(value));
  const low = Math.floor(Math.min(-1, ...exponents));
  const high = Math.ceil(Math.max(1, ...exponents));
  const step = Math.max(1, Math.ceil((high - low) / 10));
  const ticks: number[] = [];
  for (let at = low; at <= high; at++) if (at % step === 0) ticks.push(2 ** at);
  const place: Scale = (times) => {
    const share = (Math.log2(times) - low) / (high - low);
    return plotLeft + Math.min(1, Math.max(0, share)) * (plotRight - plotLeft);
  };
  return { place, ticks };
}

function axis({ place, ticks }: Axis, height: number): string[] {
  const bottom = height - 34;
  return ticks.flatMap((tick) => {
    const x = place(tick).toFixed(1);
    const name = tick >= 1 ? `${tick}×` : `1/${1 / tick}`;
    return [
      `<line class="${tick === 1 ? "one" : "line"}" x1="${x}" x2="${x}" y1="${top - 8}" y2="${bottom}"/>`,
      `<text class="soft" x="${x}" y="${bottom + 18}" text-anchor="middle">${name}</text>`,
    ];
  });
}

function drawMark(mark: Mark, y: number, { place }: Axis): string {
  const [from, to] = [place(1), place(mark.times)].toSorted((a, b) => a - b) as [number, number];
  const kind = mark.verdict === "undecided" ? "shown" : mark.verdict;
  const wanted =
    mark.wanted === undefined
      ? ""
      : `<rect class="bar" x="${(place(mark.wanted) - 1.5).toFixed(1)}" y="${y + 14}" width="3" height="16"/>`;
  const length = Math.max(2, to - from).toFixed(1);
  return (
    `<text class="ink halo" x="${left}" y="${y + 11}">${escapeXml(mark.title)}</text>` +
    `<rect class="${kind}" x="${from.toFixed(1)}" y="${y + 17}" width="${length}" height="10" rx="2"/>` +
    wanted +
    `<text class="ink" x="${plotRight + 12}" y="${y + 26}">${escapeXml(resultText(mark))}</text>`
  );
}

function resultText({ times, atLeast, verdict }: Mark): string {
  const sign = { met: "✓ met", missed: "✗ missed", undecided: "? open", shown: "" }[verdict];
  return `${atLeast ? "over " : ""}${numberText(times)}× ${sign}`.trim();
}

function describe(mark: Mark): string {
  const wanted = mark.wanted === undefined ? "no bar" : `bar ${numberText(mark.wanted)}`;
  return `${mark.title}: ${resultText(mark)} (${wanted}).`;
}

function escapeXml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
