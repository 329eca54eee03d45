/** Connections to Postgres: pools for operations, and single clients. */
import pg from "pg";

/** What the database itself is told to give up after; the client waits a little longer. */
const extraWaitMs = 5_000;
const connectTimeoutMs = 5_000;

export interface PoolOptions {
  readonly url: string;
  readonly connectionsMax: number;
  readonly statementTimeoutMs: number;
}

export const applicationName = "completionist";

/** Whole numbers of 64 bits come as numbers; one that a double cannot hold is an error. */
function exactNumber(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new Error(`The number ${text} is too large.`);
  return value;
}

const types: pg.CustomTypesConfig = {
  getTypeParser: (id, format) =>
    id === pg.types.builtins.INT8 ? exactNumber : pg.types.getTypeParser(id, format),
};

export function openPool({ url, connectionsMax, statementTimeoutMs }: PoolOptions): pg.Pool {
  const pool = new pg.Pool({
    connectionString: url,
    application_name: applicationName,
    max: connectionsMax,
    connectionTimeoutMillis: connectTimeoutMs,
    statement_timeout: statementTimeoutMs,
    query_timeout: statementTimeoutMs + extraWaitMs,
    keepAlive: true,
    types,
  });
  // A connection that the database closed is replaced. Without listeners that would be fatal: the
  // pool's hears of idle ones, the client's of those that are between two statements.
  pool.on("error", () => undefined);
  pool.on("connect", (client) => client.on("error", () => undefined));
  return pool;
}

export function newClient(url: string): pg.Client {
  return new pg.Client({
    connectionString: url,
    application_name: applicationName,
    connectionTimeoutMillis: connectTimeoutMs,
    query_timeout: extraWaitMs,
    keepAlive: true,
  });
}
