/** Sums of the ledger as a table, as CSV and as JSON. */
import type { UsageGroup, UsageRow } from "../access/access.ts";
import { type CsvCell, csvLine } from "./csv.ts";
import { type Alignment, columnLines, printableJson } from "./text-columns.ts";
import type { UsageForm } from "./usage-options.ts";

export interface UsageSums {
  readonly by: readonly UsageGroup[];
  readonly rows: readonly UsageRow[];
}

const counts = ["requests", "promptTokens", "cachedTokens", "completionTokens"] as const;
const countNames = ["requests", "prompt_tokens", "cached_tokens", "completion_tokens"] as const;

/** The whole text, lines with their ends. */
export function sumsText(sums: UsageSums, form: UsageForm): readonly string[] {
  if (form === "csv") return sumsCsv(sums);
  if (form === "json") return [`${printableJson(sums.rows.map((row) => sumJson(sums.by, row)))}\n`];
  return sumsTable(sums).map((line) => `${line}\n`);
}

const totalOf = (row: UsageRow): number => row.promptTokens + row.completionTokens;

/** The sum over all rows. */
export function sumOf(rows: readonly UsageRow[]): UsageRow {
  const sum = (name: (typeof counts)[number]) => rows.reduce((all, row) => all + row[name], 0);
  return {
    requests: sum("requests"),
    promptTokens: sum("promptTokens"),
    cachedTokens: sum("cachedTokens"),
    completionTokens: sum("completionTokens"),
  };
}

function sumsTable({ by, rows }: UsageSums): readonly string[] {
  const numbers = (row: UsageRow) => [...counts.map((name) => row[name]), totalOf(row)].map(String);
  const heads = [...by, "requests", "prompt", "cached", "completion", "total"];
  const names = keyNames(rows);
  const cell = (row: UsageRow, group: UsageGroup) =>
    (group === "key" ? names(row) : row[group]) || "-";
  const lines = rows.map((row) => [...by.map((group) => cell(row, group)), ...numbers(row)]);
  const last = [...by.map((_, index) => (index === 0 ? "sum" : "")), ...numbers(sumOf(rows))];
  const alignments: readonly Alignment[] = [
    ...by.map(() => "left" as const),
    ...Array<Alignment>(5).fill("right"),
  ];
  return columnLines([heads, ...lines, last], alignments);
}

/** How keys are shown: with their ids where two have the same name, as one was revoked. */
function keyNames(rows: readonly UsageRow[]): (row: UsageRow) => string {
  const ids = new Map<string, Set<string | undefined>>();
  for (const { key = "", keyId } of rows) ids.set(key, (ids.get(key) ?? new Set()).add(keyId));
  return ({ key = "", keyId }) =>
    (ids.get(key)?.size ?? 0) > 1 && keyId !== undefined ? `${key} (${keyId})` : key;
}

/** The columns of the groups: a key is its name and its id. */
const groupColumns = (by: readonly UsageGroup[]): readonly string[] =>
  by.flatMap((group) => (group === "key" ? ["key", "key_id"] : [group]));

const groupCells = (by: readonly UsageGroup[], row: UsageRow): readonly (string | undefined)[] =>
  by.flatMap((group) => (group === "key" ? [row.key, row.keyId] : [row[group]]));

function sumsCsv({ by, rows }: UsageSums): readonly string[] {
  const heads: readonly CsvCell[] = [...groupColumns(by), ...countNames, "total_tokens"];
  const lines = rows.map((row) => [
    ...groupCells(by, row),
    ...counts.map((name) => row[name]),
    totalOf(row),
  ]);
  return [heads, ...lines].map(csvLine);
}

/** As in the answer of `GET /v1/usage`, and with the key's id. */
function sumJson(by: readonly UsageGroup[], row: UsageRow): object {
  const columns = groupColumns(by);
  const cells = groupCells(by, row);
  return {
    ...Object.fromEntries(columns.map((column, index) => [column, cells[index] ?? null])),
    ...Object.fromEntries(
      countNames.map((name, index) => [name, row[counts[index] ?? "requests"]]),
    ),
    total_tokens: totalOf(row),
  };
}
