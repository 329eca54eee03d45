/** What a run of the bench leaves behind: the shape of its JSON file, from which tables, chart and page are made. */
import { readFile, rename, writeFile } from "node:fs/promises";
import { z } from "zod";
import { BenchError } from "./bench-error.ts";

const barSchema = z.object({ kind: z.enum(["at least", "at most"]), value: z.number() });

/** What is asked of a ratio or, in a line without another side, of a figure. */
export type Bar = z.infer<typeof barSchema>;

const seriesSchema = z.object({
  key: z.string(),
  title: z.string(),
  unit: z.string(),
  better: z.enum(["more", "less"]),
});

/** One thing that a row measures. */
export type Series = z.infer<typeof seriesSchema>;

const figureSchema = z.object({
  series: z.string(),
  arm: z.string(),
  values: z.array(z.number()).min(1),
  /** A measurement was ended at its limit: in truth it is no better than the value. */
  bound: z.boolean(),
});

/** The measurements of one arm in one series, round by round. */
export type Figure = z.infer<typeof figureSchema>;

const lineSchema = z.object({
  title: z.string(),
  series: z.string(),
  otherSeries: z.string(),
  ours: z.string(),
  /** null: the bar is for the figure itself. */
  other: z.string().nullable(),
  /** Ours to the other's, of the medians; the figure itself where there is no other. */
  ratio: z.number().nullable(),
  /** What is known of the ratio where a side was ended at its limit. */
  known: z.enum(["exactly", "at least", "at most"]),
  bar: barSchema.nullable(),
  verdict: z.enum(["met", "missed", "undecided", "not measured", "shown"]),
  /** Ratios to the peer as tuned, and of what both give out of the box. */
  tunedRatio: z.number().nullable(),
  outOfTheBoxRatio: z.number().nullable(),
});

/** One comparison of a row, with its verdict. */
export type Line = z.infer<typeof lineSchema>;
export type Verdict = Line["verdict"];

const rowSchema = z.object({
  id: z.string(),
  title: z.string(),
  explanation: z.string(),
  measuredAt: z.string(),
  rounds: z.number(),
  slots: z.number(),
  context: z.number(),
  /** Of one minute, and the share of all cores that was in use in the second before the row. */
  loadAverage: z.number(),
  busyShare: z.number(),
  series: z.array(seriesSchema),
  arms: z.array(z.object({ id: z.string(), name: z.string() })),
  figures: z.array(figureSchema),
  lines: z.array(lineSchema),
  /** How a series went on, for example memory over requests. */
  traces: z.array(
    z.object({
      arm: z.string(),
      title: z.string(),
      points: z.array(z.tuple([z.number(), z.number()])),
    }),
  ),
  failures: z.array(z.object({ arm: z.string(), reason: z.string() })),
  notes: z.array(z.string()),
});

export type RowReport = z.infer<typeof rowSchema>;

const reportSchema = z.object({
  format: z.literal("completionist-bench-1"),
  startedAt: z.string(),
  machine: z.object({
    processor: z.string(),
    cores: z.number(),
    memoryBytes: z.number(),
    system: z.string(),
    node: z.string(),
    completionist: z.string(),
    library: z.string(),
  }),
  model: z.object({ file: z.string(), bytes: z.number(), sha256: z.string() }),
  /** The default model as it was fetched, for the comparison out of the box. */
  fetchedModel: z.object({ file: z.string(), bytes: z.number() }).nullable(),
  peer: z.object({ name: z.string(), version: z.string(), native: z.boolean() }).nullable(),
  quick: z.boolean(),
  rows: z.array(rowSchema),
});

export type Report = z.infer<typeof reportSchema>;
export type MachineFacts = Report["machine"];

/** The busy share of a machine from which its figures are doubted. */
export const busyShareMax = 0.1;

/** undefined when there is no such file. Throws a BenchError for a file that is no report. */
export async function readReport(path: string): Promise<Report | undefined> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new BenchError("failed", `${path} cannot be read: ${(error as Error).message}`);
  }
  try {
    return reportSchema.parse(JSON.parse(text));
  } catch {
    throw new BenchError("failed", `${path} is no report of this bench; name another file`);
  }
}

/** Replaces the file at once, so that it is whole whenever the program ends. */
export async function writeReport(path: string, report: Report): Promise<void> {
  const draft = `${path}.part`;
  await writeFile(draft, `${JSON.stringify(report, undefined, 2)}\n`);
  await rename(draft, path);
}

/** The report with a row in place of the one of that name, or added. */
export function withRow(report: Report, row: RowReport): Report {
  const known = report.rows.some(({ id }) => id === row.id);
  const rows = known
    ? report.rows.map((each) => (each.id === row.id ? row : each))
    : [...report.rows, row];
  return { ...report, rows };
}
