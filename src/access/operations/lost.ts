/** Rows that a dead server process left open. */
import { isOpen } from "../dialects.ts";
import type { Operation } from "../store.ts";
import { addToMonth, monthOf, scopesOf } from "./scopes.ts";

/** Server processes that have rows open. */
export const openInstances: Operation<void, readonly string[]> = {
  mode: "read",
  run: async ({ db }) => {
    const query = db.selectFrom("requests").select("instance").distinct().where(isOpen);
    return (await query.execute()).map((row) => row.instance);
  },
};

/** Rows of one `settleLost`: it is called again until there are no more. */
export const lostBatchMax = 200;

/**
 * Closes rows of a process that is dead, charged as reserved: what it really used nobody knows, and
 * a quota must not be undercut by crashing. The buckets were filled when the rows were opened.
 * Gives the number of rows closed.
 */
export const settleLost: Operation<{ readonly instance: string }, number> = {
  mode: "write",
  run: async ({ db, dialect }, { instance }) => {
    const open = db
      .selectFrom("requests")
      .select(["id", "key_id", "end_user", "reserved_tokens", "created_ms"])
      .where("instance", "=", instance)
      .where(isOpen);
    const found = await open.orderBy("id").limit(lostBatchMax).execute();
    // Keys are locked before rows, and in one order, as everywhere.
    const keyIds = [...new Set(found.flatMap((row) => row.key_id ?? []))];
    const keys =
      keyIds.length === 0
        ? []
        : await dialect
            .lockRows(db.selectFrom("keys").selectAll().where("id", "in", keyIds).orderBy("id"))
            .execute();
    const ids = found.map((row) => row.id);
    if (ids.length === 0) return 0;
    const rows = await dialect.lockRows(open.where("id", "in", ids).orderBy("id")).execute();
    for (const row of rows) {
      const { reserved_tokens: tokens, created_ms } = row;
      const key = keys.find((candidate) => candidate.id === row.key_id);
      if (key !== undefined) {
        const users = scopesOf(key.id, row.end_user, key).map((scope) => scope.endUser);
        const month = monthOf(created_ms);
        await addToMonth(db, key.id, users, { month, reserved: -tokens, used: tokens });
      }
      await db
        .updateTable("requests")
        .set({ outcome: "lost", charged_tokens: tokens })
        .where("id", "=", row.id)
        .execute();
    }
    return rows.length;
  },
};
