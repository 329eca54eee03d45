/** What keeps the database small and known to be writable. */
import { sql } from "kysely";
import type { Operation } from "../store.ts";
import { monthOf } from "./scopes.ts";

/** Rows of one `deleteOldRequests`: it is called again until there are no more. */
export const deleteBatchMax = 500;

/**
 * Deletes rows that ended and were made before a time. The sums of the month are kept apart and stay
 * as they are. Gives the number of rows deleted.
 */
export const deleteOldRequests: Operation<{ readonly beforeMs: number }, number> = {
  mode: "write",
  run: async ({ db }, { beforeMs }) => {
    const old = db
      .selectFrom("requests")
      .select("id")
      .where("created_ms", "<", beforeMs)
      .where("outcome", "<>", "open")
      .limit(deleteBatchMax);
    const result = await db.deleteFrom("requests").where("id", "in", old).executeTakeFirst();
    return Number(result.numDeletedRows);
  },
};

/** A bucket that was not touched for this long has been empty for most of it. */
const bucketIdleMs = 3_600_000;

/** Forgets counters of users that can be no limit any more: their names come from outside. */
export const tidy: Operation<void, void> = {
  mode: "write",
  run: async ({ db, nowMs }) => {
    const now = await nowMs();
    await db
      .deleteFrom("buckets")
      .where("at_ms", "<", now - bucketIdleMs)
      .execute();
    await db
      .deleteFrom("month_usage")
      .where("end_user", "<>", "")
      .where("month", "<", monthOf(now))
      .where("reserved", "=", 0)
      .execute();
  },
};

/** Writes without changing anything, to learn whether writing works. */
export const probeWrite: Operation<void, void> = {
  mode: "write",
  run: async ({ db }) => {
    await db.updateTable("schema_version").set({ version: 1 }).where("version", "=", 1).execute();
  },
};

/** A copy of the whole SQLite database as of now, into a file that does not exist yet. */
export const backup: Operation<{ readonly file: string }, void> = {
  mode: "report",
  run: async ({ db }, { file }) => {
    await sql`vacuum into ${file}`.execute(db);
  },
};
