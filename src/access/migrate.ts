/** Brings a database to the version of this program, and refuses one that is newer or foreign. */
import type { Kysely } from "kysely";
import type { Dialect } from "./dialects.ts";
import { type Migration, migrations } from "./migrations.ts";
import type { Tables } from "./tables.ts";

export const schemaVersion = migrations.length;

/** Not our database, or one that this program does not understand. */
export class SchemaError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "SchemaError";
  }
}

/**
 * Takes the steps that are missing. The caller holds the lock that keeps other processes from doing
 * the same, and commits.
 */
export async function migrate(
  db: Kysely<Tables>,
  dialect: Dialect,
  steps: readonly Migration[] = migrations,
): Promise<void> {
  await db.schema
    .createTable("schema_version")
    .ifNotExists()
    .addColumn("version", dialect.integerType, (column) => column.primaryKey())
    .addColumn("applied_ms", dialect.integerType, (column) => column.notNull())
    .execute();
  const found = await versionOf(db);
  for (const [index, step] of steps.entries()) {
    const version = index + 1;
    if (version <= found) continue;
    await step(db, dialect);
    const applied_ms = await dialect.nowMs(db);
    await db.insertInto("schema_version").values({ version, applied_ms }).execute();
  }
}

/** Version of a database that has the table of versions; 0 when it is empty. */
export async function versionOf(db: Kysely<Tables>): Promise<number> {
  const row = await db
    .selectFrom("schema_version")
    .select((select) => select.fn.max("version").as("version"))
    .executeTakeFirst();
  const version = row?.version ?? 0;
  if (version > schemaVersion) {
    throw new SchemaError(
      `it was written by a newer version of this program (its tables have version ${version}, ` +
        `and this program knows ${schemaVersion})`,
    );
  }
  return version;
}
