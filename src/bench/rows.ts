/** All rows of the bench, in the order in which they are measured. */
import { BenchError } from "./bench-error.ts";
import type { Row } from "./row.ts";
import { cancelling, gaps } from "./rows/fairness.ts";
import { memory, models } from "./rows/memory.ts";
import { eightAnswers, sharedPrefix } from "./rows/prompts.ts";
import { reading, scoring } from "./rows/reading.ts";
import { neighbourRows, oneStream, streamRows } from "./rows/streams.ts";

// Rows of one shape stand together: they share their servers.
export const rows: readonly Row[] = [
  oneStream,
  ...neighbourRows,
  ...streamRows,
  eightAnswers,
  sharedPrefix,
  reading,
  scoring,
  gaps,
  cancelling,
  models,
  memory,
];

/** Those that `--rows` names, in our order; without it all that are not for special occasions. */
export function chooseRows(names: readonly string[] | undefined): readonly Row[] {
  if (names === undefined) return rows.filter(({ named }) => named !== true);
  const unknown = names.find((name) => !rows.some(({ id }) => id === name));
  if (unknown !== undefined) {
    const known = rows.map(({ id }) => id).join(", ");
    throw new BenchError("usage", `--rows: there is no row "${unknown}"; rows: ${known}`);
  }
  return rows.filter(({ id }) => names.includes(id));
}
