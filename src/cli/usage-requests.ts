/** Requests of the ledger one by one, as a table, as CSV and as JSON lines. */
import type { LedgerRow } from "../access/ledger.ts";
import { csvLine } from "./csv.ts";
import { isoText } from "./data-settings.ts";
import { type Alignment, columnLine, printableJson } from "./text-columns.ts";
import type { UsageForm } from "./usage-options.ts";

type Cell = string | number | undefined;

interface Column {
  readonly name: string;
  readonly of: (row: LedgerRow) => Cell;
  /** Where a table shows it: a head and a width, as no row is known before it comes. */
  readonly table?: { readonly head: string; readonly width: number; readonly alignment: Alignment };
}

const left = (head: string, width: number) => ({ head, width, alignment: "left" as const });
const right = (head: string, width: number) => ({ head, width, alignment: "right" as const });

const columns: readonly Column[] = [
  { name: "id", of: (row) => row.completionId, table: left("id", 34) },
  { name: "created", of: (row) => new Date(row.createdMs).toISOString() },
  { name: "request_id", of: (row) => row.requestId },
  { name: "key", of: (row) => row.keyName, table: left("key", 12) },
  { name: "key_id", of: (row) => row.keyId },
  { name: "user", of: (row) => row.user, table: left("user", 12) },
  { name: "model", of: (row) => row.model, table: left("model", 21) },
  { name: "candidates", of: (row) => row.candidates, table: right("cand", 4) },
  { name: "prompt_tokens", of: (row) => row.promptTokens, table: right("prompt", 6) },
  { name: "cached_tokens", of: (row) => row.cachedTokens, table: right("cached", 6) },
  { name: "completion_tokens", of: (row) => row.completionTokens, table: right("completion", 10) },
  { name: "charged_tokens", of: (row) => row.chargedTokens },
  { name: "outcome", of: (row) => row.outcome, table: left("outcome", 9) },
  { name: "error", of: (row) => row.error, table: left("error", 6) },
  { name: "admitted_ms", of: (row) => row.admittedMs },
  { name: "first_token_ms", of: (row) => row.firstTokenMs },
  { name: "duration_ms", of: (row) => row.durationMs, table: right("ms", 7) },
];

export const requestColumns: readonly string[] = columns.map(({ name }) => name);

/** Lines with their ends, as the rows come. */
export async function* requestLines(
  rows: AsyncIterable<LedgerRow>,
  form: UsageForm,
): AsyncGenerator<string> {
  const line = lineOf[form];
  const head = heads[form];
  if (head !== undefined) yield head;
  for await (const row of rows) yield line(row);
}

const timed: readonly Column[] = columns.map((column) =>
  column.name === "created"
    ? { ...column, of: (row) => isoText(row.createdMs), table: left("created", 20) }
    : column,
);
const shown = timed.flatMap(({ of, table }) => (table === undefined ? [] : [{ of, ...table }]));

function tableLine(cells: readonly string[]): string {
  const widths = shown.map(({ width }) => width);
  const alignments = shown.map(({ alignment }) => alignment);
  return `${columnLine(cells, widths, alignments)}\n`;
}

const lineOf: Readonly<Record<UsageForm, (row: LedgerRow) => string>> = {
  table: (row) => tableLine(shown.map(({ of }) => String(of(row) ?? "") || "-")),
  csv: (row) => csvLine(columns.map(({ of }) => of(row))),
  json: (row) => {
    const entries = columns.map(({ name, of }) => [name, of(row) ?? null]);
    return `${printableJson(Object.fromEntries(entries))}\n`;
  },
};

const heads: Readonly<Record<UsageForm, string | undefined>> = {
  table: tableLine(shown.map(({ head }) => head)),
  csv: csvLine(requestColumns),
  json: undefined,
};
