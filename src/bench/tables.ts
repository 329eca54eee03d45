/** The report as Markdown: one table of verdicts, one of all figures. */
import {
  armName,
  barText,
  figureText,
  findFigure,
  findSeries,
  numberText,
  ratioText,
  sideText,
  verdictTexts,
} from "./figure-text.ts";
import type { Line, Report, RowReport } from "./report.ts";

const verdictHead = [
  ...["what", "unit", "completionist", "the other", "ratio", "bar", "verdict"],
  ...["ratio, other tuned", "ratio, out of the box"],
];

/** A line for each comparison of these rows. */
export function verdictTable(rows: readonly RowReport[]): string {
  const body = rows.flatMap((row) =>
    row.lines.filter(isTold).map((line) => verdictCells(row, line)),
  );
  return table(verdictHead, body, 2);
}

/** A bar that nothing was measured for is told; what was only to be shown and was not, is not. */
const isTold = ({ verdict, bar }: Line): boolean => verdict !== "not measured" || bar !== null;

function verdictCells(row: RowReport, line: Line): string[] {
  const { unit } = findSeries(row, line.series);
  const other = sideText(row, line.other, line.otherSeries);
  const name = line.other === null ? "" : armName(row, line.other);
  return [
    line.title,
    unit,
    withName(sideText(row, line.ours, line.series), armName(row, line.ours)),
    withName(other, name),
    ratioText(line, unit),
    barText(line.bar, line.other === null ? unit : ""),
    verdictTexts[line.verdict],
    line.tunedRatio === null ? "" : numberText(line.tunedRatio),
    line.outOfTheBoxRatio === null ? "" : numberText(line.outOfTheBoxRatio),
  ];
}

const withName = (figure: string, name: string): string =>
  figure === "" ? "" : `${figure}, ${name}`;

/** All that one row measured: a line for each side, a column for each series. */
export function figureTable(row: RowReport): string {
  const head = ["side", ...row.series.map(({ title, unit }) => `${title} (${unit})`)];
  const body = row.arms.map(({ id, name }) => [
    name,
    ...row.series.map((series) => {
      const figure = findFigure(row, id, series.key);
      return figure === undefined ? "" : figureText(figure, series);
    }),
  ]);
  const measured = body.filter((cells) => cells.slice(1).some((cell) => cell !== ""));
  return table(head, measured, 1);
}

/** How a series went on, if the row has any: a line for each side. */
export function traceTables(row: RowReport): readonly string[] {
  return row.traces.map(({ arm, title, points }) =>
    table(
      [`${armName(row, arm)}: ${title}`, ...points.map(([at]) => String(at))],
      [["", ...points.map(([, value]) => numberText(value))]],
      1,
    ),
  );
}

/** What the reader must know of a row beside its figures. */
export function rowNotes(row: RowReport): readonly string[] {
  return [
    ...row.notes,
    ...row.failures.map(({ arm, reason }) => `${armName(row, arm)} was not measured: ${reason}`),
  ];
}

/** The whole report, as the command prints it. */
export function reportText(report: Report): string {
  const parts = [machineLine(report), verdictTable(report.rows)];
  for (const row of report.rows) {
    parts.push(`${row.title} (\`${row.id}\`, median and range of ${row.rounds})`);
    parts.push(figureTable(row), ...traceTables(row));
    parts.push(...rowNotes(row).map((note) => `- ${note}`));
  }
  return `${parts.join("\n\n")}\n`;
}

export function machineLine({ machine, model, peer, quick }: Report): string {
  const memory = (machine.memoryBytes / 1024 ** 3).toFixed(0);
  const other = peer === null ? "no llama-server" : `${peer.name} ${peer.version}`;
  return (
    `${machine.cores} cores (${machine.processor}), ${memory} GiB, ${machine.system}; ` +
    `completionist ${machine.completionist}, Node ${machine.node}, library ${machine.library}; ` +
    `${other}; ${model.file}${quick ? "; a quick look: the figures mean nothing" : ""}`
  );
}

/** Columns from `numbersFrom` on are set to the right. */
export function table(
  head: readonly string[],
  body: readonly (readonly string[])[],
  numbersFrom: number,
): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  const rule = head.map((_, index) => (index < numbersFrom ? "---" : "---:"));
  return [line(head), line(rule), ...body.map(line)].join("\n");
}
