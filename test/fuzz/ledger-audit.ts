/** Whether the ledger of a fuzzed server has a row for each request that ran, and no others. */
import { setTimeout as delay } from "node:timers/promises";
import type { DatabaseSettings } from "../../src/access/location.ts";
import { type LookedRow, lookAtLedger } from "../proofs/ledger-look.ts";

export interface LedgerAudit {
  readonly rows: number;
  /** Rows of completions whose answer nobody took. */
  readonly unheard: number;
  readonly problems: readonly string[];
}

/** A request whose client has left is written down a moment later. */
const settleTries = 100;
const settlePauseMs = 100;

/**
 * `answered`: ids of whole answers. `unheardMax`: requests that were sent, at least in part, and
 * whose answer did not come: they may have run or not.
 */
export async function auditLedger(
  settings: DatabaseSettings,
  answered: ReadonlySet<string>,
  unheardMax: number,
): Promise<LedgerAudit> {
  const look = await lookAtLedger(settings);
  let rows: readonly LookedRow[] = await look.requests();
  for (let tries = 0; tries < settleTries && rows.some(isOpen); tries += 1) {
    await delay(settlePauseMs);
    rows = await look.requests();
  }
  await look.close();
  const completed = new Set(
    rows.flatMap((row) => (row.outcome === "completed" ? [row.completionId] : [])),
  );
  const missing = [...answered].filter((id) => !completed.has(id));
  const unheard = rows.filter((row) => !answered.has(row.completionId)).length;
  const open = rows.filter(isOpen);
  const problems = [
    ...missing.map((id) => `an answered completion has no row: ${id}`),
    ...open.map((row) => `a row stays open: ${row.completionId}`),
  ];
  if (unheard > unheardMax) {
    problems.push(`${unheard} rows without an answer, for ${unheardMax} requests without one`);
  }
  return { rows: rows.length, unheard, problems };
}

const isOpen = (row: LookedRow) => row.outcome === "open";
