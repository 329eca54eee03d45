/** Everything in which the two databases differ for the queries; these are written once. */
import { type Kysely, sql } from "kysely";
import type { Tables } from "./tables.ts";

interface Lockable {
  forUpdate(): unknown;
}

export interface Dialect {
  readonly name: "sqlite" | "postgres";
  /** Column types. */
  readonly integerType: "integer" | "bigint";
  readonly idType: "integer" | "bigserial";
  /** Makes a select keep its rows from other transactions until this one ends. */
  lockRows<Query extends Lockable>(query: Query): Query;
  /** Unix milliseconds of the clock that all servers on this database share. */
  nowMs(db: Kysely<Tables>): Promise<number>;
}

/** A transaction of SQLite that writes is the only one, so rows need no locks. */
export const sqliteDialect: Dialect = {
  name: "sqlite",
  integerType: "integer",
  idType: "integer",
  lockRows: (query) => query,
  nowMs: async () => Date.now(),
};

export const postgresDialect: Dialect = {
  name: "postgres",
  integerType: "bigint",
  idType: "bigserial",
  lockRows: (query) => query.forUpdate() as typeof query,
  nowMs: async (db) => {
    const clock = sql<{ ms: number }>`
      select cast(floor(extract(epoch from clock_timestamp()) * 1000) as bigint) as ms`;
    const { rows } = await clock.execute(db);
    return rows[0]?.ms ?? Date.now();
  },
};

/** Unix milliseconds as the number of the day since 1970-01-01, UTC: whole division in both. */
export const dayOf = (column: string) => sql<number>`${sql.ref(column)} / 86400000`;

/** A sum as a whole number; Postgres would make a decimal of it. */
export const wholeSum = (column: string) =>
  sql<number>`cast(coalesce(sum(${sql.ref(column)}), 0) as bigint)`;

/** A literal and not a parameter: only so do both use the indexes over open rows alone. */
export const isOpen = sql<boolean>`outcome = 'open'`;
