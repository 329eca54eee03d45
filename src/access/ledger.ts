/** Reading the ledger: for the command line, with or without a server that runs. */
import type { Outcome, UsageQuery, UsageRow } from "./access.ts";
import { type DatabaseSettings, locateDatabase } from "./location.ts";
import { openStore } from "./open-store.ts";
import type { LedgerOwner } from "./operations/usage.ts";
import type { Store } from "./store.ts";
import type { RequestRow } from "./tables.ts";

/** One request that ended. Counts that nobody knows, of a request that was lost, are undefined. */
export interface LedgerRow {
  readonly id: number;
  readonly completionId: string;
  readonly requestId: string;
  readonly keyId: string | undefined;
  readonly keyName: string;
  readonly user: string | undefined;
  readonly model: string;
  readonly candidates: number;
  readonly promptTokens: number;
  readonly cachedTokens: number | undefined;
  readonly completionTokens: number | undefined;
  readonly reservedTokens: number;
  readonly chargedTokens: number | undefined;
  readonly createdMs: number;
  readonly admittedMs: number | undefined;
  readonly firstTokenMs: number | undefined;
  readonly durationMs: number | undefined;
  readonly outcome: Outcome;
  readonly error: string | undefined;
}

export interface LedgerQuery {
  /** Unix milliseconds: from (inclusive) and until (exclusive). */
  readonly fromMs?: number;
  readonly untilMs?: number;
  /** Of one key only. */
  readonly owner?: LedgerOwner | undefined;
  /** Rows after this one. */
  readonly afterId?: number;
}

export interface Ledger {
  /** Sums of all keys, or of one. */
  usage(query: UsageQuery, owner?: LedgerOwner): Promise<readonly UsageRow[]>;
  /** Rows by id, read in pages: as many as there are, in little memory. */
  rows(query?: LedgerQuery): AsyncIterable<LedgerRow>;
  close(): Promise<void>;
}

const pageRows = 1000;

/** Rejects with a DatabaseError, one sentence for people; also when there is no database yet. */
export async function openLedger(settings: DatabaseSettings): Promise<Ledger> {
  return ledgerOn(await openStore(locateDatabase(settings), { mustExist: true }));
}

export function ledgerOn(store: Store): Ledger {
  return {
    usage: (query, owner) => store.run("sumUsage", { query, owner }),
    rows: (query = {}) => readRows(store, query),
    close: () => store.close(),
  };
}

async function* readRows(store: Store, query: LedgerQuery): AsyncGenerator<LedgerRow> {
  let afterId = query.afterId ?? 0;
  for (;;) {
    const rows = await store.run("listRequests", { ...query, afterId, rowsMax: pageRows });
    for (const row of rows) yield ledgerRow(row);
    const last = rows.at(-1);
    if (last === undefined || rows.length < pageRows) return;
    afterId = last.id;
  }
}

function ledgerRow(row: RequestRow): LedgerRow {
  return {
    id: row.id,
    completionId: row.completion_id,
    requestId: row.request_id,
    keyId: row.key_id ?? undefined,
    keyName: row.key_name,
    user: row.end_user ?? undefined,
    model: row.model,
    candidates: row.candidates,
    promptTokens: row.prompt_tokens,
    cachedTokens: row.cached_tokens ?? undefined,
    completionTokens: row.completion_tokens ?? undefined,
    reservedTokens: row.reserved_tokens,
    chargedTokens: row.charged_tokens ?? undefined,
    createdMs: row.created_ms,
    admittedMs: row.admitted_ms ?? undefined,
    firstTokenMs: row.first_token_ms ?? undefined,
    durationMs: row.duration_ms ?? undefined,
    // Open rows are never listed.
    outcome: row.outcome as Outcome,
    error: row.error ?? undefined,
  };
}
