/**
 * What made the tables, step by step, oldest first. A step that was released is never changed: a
 * new one is added behind it.
 */
import { type Kysely, sql } from "kysely";
import type { Dialect } from "./dialects.ts";
import type { Tables } from "./tables.ts";

export type Migration = (db: Kysely<Tables>, dialect: Dialect) => Promise<void>;

/** Step i makes version i + 1. */
export const migrations: readonly Migration[] = [firstTables];

async function firstTables(db: Kysely<Tables>, dialect: Dialect): Promise<void> {
  await createKeys(db, dialect);
  await createCounters(db, dialect);
  await createRequests(db, dialect);
}

/** As they were then: a limit that is added later gets a step of its own. */
const firstLimits = [
  "requests_per_minute",
  "tokens_per_minute",
  "tokens_per_month",
  "max_parallel",
  "user_requests_per_minute",
  "user_tokens_per_minute",
  "user_tokens_per_month",
  "user_max_parallel",
] as const;

async function createKeys(db: Kysely<Tables>, { integerType }: Dialect): Promise<void> {
  let table = db.schema
    .createTable("keys")
    .addColumn("id", "text", (column) => column.primaryKey())
    .addColumn("name", "text", (column) => column.notNull())
    .addColumn("secret_hash", "text", (column) => column.notNull().unique())
    .addColumn("masked", "text", (column) => column.notNull())
    .addColumn("models", "text")
    .addColumn("created_ms", integerType, (column) => column.notNull())
    .addColumn("expires_ms", integerType)
    .addColumn("revoked_ms", integerType)
    .addColumn("rotated_ms", integerType)
    .addColumn("last_used_ms", integerType);
  for (const column of firstLimits) table = table.addColumn(column, integerType);
  await table.execute();
  await db.schema
    .createIndex("keys_name_in_use")
    .on("keys")
    .column("name")
    .unique()
    .where(sql.ref("revoked_ms"), "is", null)
    .execute();
}

async function createCounters(db: Kysely<Tables>, { integerType }: Dialect): Promise<void> {
  await db.schema
    .createTable("buckets")
    .addColumn("key_id", "text", (column) => column.notNull())
    .addColumn("end_user", "text", (column) => column.notNull())
    .addColumn("kind", "text", (column) => column.notNull())
    .addColumn("level", integerType, (column) => column.notNull())
    .addColumn("at_ms", integerType, (column) => column.notNull())
    .addColumn("refunded", integerType, (column) => column.notNull())
    .addPrimaryKeyConstraint("buckets_pk", ["key_id", "end_user", "kind"])
    .execute();
  await db.schema
    .createTable("month_usage")
    .addColumn("key_id", "text", (column) => column.notNull())
    .addColumn("end_user", "text", (column) => column.notNull())
    .addColumn("month", "text", (column) => column.notNull())
    .addColumn("reserved", integerType, (column) => column.notNull())
    .addColumn("used", integerType, (column) => column.notNull())
    .addPrimaryKeyConstraint("month_usage_pk", ["key_id", "end_user", "month"])
    .execute();
}

async function createRequests(db: Kysely<Tables>, dialect: Dialect): Promise<void> {
  const { integerType, idType } = dialect;
  await db.schema
    .createTable("requests")
    .addColumn("id", idType, (column) =>
      dialect.name === "sqlite" ? column.primaryKey().autoIncrement() : column.primaryKey(),
    )
    .addColumn("completion_id", "text", (column) => column.notNull().unique())
    .addColumn("request_id", "text", (column) => column.notNull())
    .addColumn("instance", "text", (column) => column.notNull())
    .addColumn("key_id", "text")
    .addColumn("key_name", "text", (column) => column.notNull())
    .addColumn("end_user", "text")
    .addColumn("model", "text", (column) => column.notNull())
    .addColumn("candidates", integerType, (column) => column.notNull())
    .addColumn("prompt_tokens", integerType, (column) => column.notNull())
    .addColumn("cached_tokens", integerType)
    .addColumn("completion_tokens", integerType)
    .addColumn("reserved_tokens", integerType, (column) => column.notNull())
    .addColumn("charged_tokens", integerType)
    .addColumn("created_ms", integerType, (column) => column.notNull())
    .addColumn("admitted_ms", integerType)
    .addColumn("first_token_ms", integerType)
    .addColumn("duration_ms", integerType)
    .addColumn("outcome", "text", (column) => column.notNull())
    .addColumn("error", "text")
    .execute();
  const index = (name: string) => db.schema.createIndex(name).on("requests");
  await index("requests_created").column("created_ms").execute();
  await index("requests_key_created").columns(["key_id", "created_ms"]).execute();
  const open = sql<boolean>`outcome = 'open'`;
  await index("requests_open_key").columns(["key_id", "end_user"]).where(open).execute();
  await index("requests_open_instance").column("instance").where(open).execute();
}
