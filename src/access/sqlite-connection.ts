/** A SQLite file through Node's own module, in the form that Kysely's dialect asks for. */
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import {
  CompiledQuery,
  Kysely,
  type SqliteDatabase,
  SqliteDialect,
  type SqliteStatement,
} from "kysely";
import { sqliteDialect } from "./dialects.ts";
import { migrate, SchemaError, versionOf } from "./migrate.ts";
import type { Tables } from "./tables.ts";

/** Says that a SQLite file is one of ours: "CMPL" in the header. */
export const applicationId = 0x434d504c;

/** Statements are kept prepared; their texts are few, but for lists of different lengths. */
const preparedMax = 256;

export interface SqliteConnection {
  readonly db: Kysely<Tables>;
  execute(text: string): void;
  close(): void;
}

export interface SqliteOptions {
  readonly file: string;
  readonly readOnly?: boolean;
  /** How long to wait for another process that writes. */
  readonly busyTimeoutMs: number;
}

/** Opens the file and sets it up; makes no tables. */
export function connectSqlite(options: SqliteOptions): SqliteConnection {
  const { file, readOnly = false, busyTimeoutMs } = options;
  const database = new DatabaseSync(file, { readOnly, timeout: busyTimeoutMs });
  try {
    if (!readOnly) {
      database.exec("pragma journal_mode = wal");
      // A commit is on the disk when it returns.
      database.exec("pragma synchronous = full");
    }
    const dialect = new SqliteDialect({ database: kyselyDatabase(database) });
    return {
      db: new Kysely<Tables>({ dialect }),
      execute: (text) => database.exec(text),
      close: () => database.close(),
    };
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Brings the file to this program's version, under the lock of whoever writes. */
export async function migrateSqlite(connection: SqliteConnection): Promise<void> {
  connection.execute("begin immediate");
  try {
    const found = await readHeader(connection);
    if (found.applicationId !== applicationId && found.tables > 0) {
      throw new SchemaError("it is a SQLite database of another program");
    }
    await migrate(connection.db, sqliteDialect);
    if (found.applicationId !== applicationId) {
      connection.execute(`pragma application_id = ${applicationId}`);
    }
    connection.execute("commit");
  } catch (error) {
    connection.execute("rollback");
    throw error;
  }
}

/** Throws a SchemaError unless the file is a database of ours and not newer than the program. */
export async function checkSqlite(connection: SqliteConnection): Promise<void> {
  if ((await readHeader(connection)).applicationId !== applicationId) {
    throw new SchemaError("it is no database of this program");
  }
  await versionOf(connection.db);
}

async function readHeader({ db }: SqliteConnection) {
  const header = CompiledQuery.raw("pragma application_id");
  const tables = CompiledQuery.raw("select count(*) as tables from sqlite_master");
  const { rows } = await db.executeQuery<{ application_id: number }>(header);
  const counted = await db.executeQuery<{ tables: number }>(tables);
  return {
    applicationId: rows[0]?.application_id ?? 0,
    tables: counted.rows[0]?.tables ?? 0,
  };
}

function kyselyDatabase(database: DatabaseSync): SqliteDatabase {
  const prepared = new Map<string, SqliteStatement>();
  return {
    close: () => database.close(),
    prepare: (text) => {
      const known = prepared.get(text);
      if (known !== undefined) return known;
      const statement = kyselyStatement(database.prepare(text));
      if (prepared.size >= preparedMax) prepared.clear();
      prepared.set(text, statement);
      return statement;
    },
  };
}

/** Reading a whole number that a double cannot hold throws, which is better than a wrong one. */
function kyselyStatement(statement: StatementSync): SqliteStatement {
  return {
    reader: statement.columns().length > 0,
    all: (parameters) => statement.all(...parameters.map(bound)),
    run: (parameters) => statement.run(...parameters.map(bound)),
    iterate: (parameters) => statement.iterate(...parameters.map(bound)),
  };
}

/** Node binds every number as a float; whole ones must stay whole, for division above all. */
function bound(value: unknown): SQLInputValue {
  if (typeof value === "number" && Number.isSafeInteger(value)) return BigInt(value);
  return (value ?? null) as SQLInputValue;
}
