/** Reads the tables by plain SQL, apart from the program's own way to them. */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import pg from "pg";
import type { DatabaseSettings } from "../../src/access/location.ts";

export interface LookedRow {
  readonly completionId: string;
  /** Which server process let it in. */
  readonly instance: string;
  readonly keyId: string | undefined;
  readonly user: string | undefined;
  readonly promptTokens: number;
  readonly completionTokens: number | undefined;
  readonly reservedTokens: number;
  readonly chargedTokens: number | undefined;
  readonly createdMs: number;
  readonly admittedMs: number | undefined;
  readonly durationMs: number | undefined;
  readonly outcome: string;
}

export interface LookedMonth {
  readonly keyId: string;
  /** "" for the key as a whole. */
  readonly user: string;
  readonly month: string;
  readonly reserved: number;
  readonly used: number;
}

/** One connection of its own. */
export interface LedgerLook {
  /** In the order in which they were let in. */
  requests(): Promise<readonly LookedRow[]>;
  months(): Promise<readonly LookedMonth[]>;
  /** Open rows by key, of one moment. */
  openRows(): Promise<ReadonlyMap<string, number>>;
  close(): Promise<void>;
}

type Row = Readonly<Record<string, unknown>>;

export async function lookAtLedger(settings: DatabaseSettings): Promise<LedgerLook> {
  const { query, close } =
    settings.database === undefined
      ? sqliteQueries(join(settings.dataFolder, "completionist.db"))
      : await postgresQueries(settings.database);
  return {
    requests: async () => (await query("select * from requests order by id")).map(lookedRow),
    months: async () =>
      (await query("select * from month_usage")).map((row) => ({
        keyId: String(row.key_id),
        user: String(row.end_user),
        month: String(row.month),
        reserved: Number(row.reserved),
        used: Number(row.used),
      })),
    openRows: async () => {
      const text =
        "select key_id, count(*) as rows from requests where outcome = 'open' group by key_id";
      const rows = await query(text);
      return new Map(rows.map((row) => [String(row.key_id), Number(row.rows)]));
    },
    close,
  };
}

function sqliteQueries(file: string) {
  const database = new DatabaseSync(file, { readOnly: true, timeout: 5000 });
  return {
    query: async (text: string): Promise<readonly Row[]> => database.prepare(text).all(),
    close: async () => database.close(),
  };
}

async function postgresQueries(url: string) {
  const client = new pg.Client({ connectionString: url });
  // The server may be stopped while nobody asks it anything.
  client.on("error", () => {});
  await client.connect();
  await client.query("set search_path = completionist");
  return {
    query: async (text: string): Promise<readonly Row[]> => (await client.query(text)).rows,
    close: () => client.end(),
  };
}

function lookedRow(row: Row): LookedRow {
  const optional = (value: unknown) => (value === null ? undefined : Number(value));
  return {
    completionId: String(row.completion_id),
    instance: String(row.instance),
    keyId: row.key_id === null ? undefined : String(row.key_id),
    user: row.end_user === null ? undefined : String(row.end_user),
    promptTokens: Number(row.prompt_tokens),
    completionTokens: optional(row.completion_tokens),
    reservedTokens: Number(row.reserved_tokens),
    chargedTokens: optional(row.charged_tokens),
    createdMs: Number(row.created_ms),
    admittedMs: optional(row.admitted_ms),
    durationMs: optional(row.duration_ms),
    outcome: String(row.outcome),
  };
}
