/** What is in the database, counted. */
import { isOpen } from "../dialects.ts";
import { versionOf } from "../migrate.ts";
import type { Operation } from "../store.ts";
import { keyHolds } from "./authenticate.ts";

export interface DatabaseCounts {
  readonly version: number;
  /** Keys that hold, and the others. */
  readonly keys: number;
  readonly endedKeys: number;
  /** Rows of the ledger that ended, and those of requests that run. */
  readonly requests: number;
  readonly openRequests: number;
  /** When the oldest and the newest row were made; undefined without rows. */
  readonly oldestMs: number | undefined;
  readonly newestMs: number | undefined;
}

export const countAll: Operation<void, DatabaseCounts> = {
  mode: "report",
  run: async ({ db, nowMs }) => {
    const now = await nowMs();
    const keys = await db.selectFrom("keys").select(["expires_ms", "revoked_ms"]).execute();
    const holding = keys.filter((key) => keyHolds(key, now)).length;
    const all = await db
      .selectFrom("requests")
      .select((select) => [
        select.fn.countAll<number>().as("count"),
        select.fn.min("created_ms").as("oldest"),
        select.fn.max("created_ms").as("newest"),
      ])
      .executeTakeFirstOrThrow();
    const open = await db
      .selectFrom("requests")
      .select((select) => select.fn.countAll<number>().as("count"))
      .where(isOpen)
      .executeTakeFirstOrThrow();
    return {
      version: await versionOf(db),
      keys: holding,
      endedKeys: keys.length - holding,
      requests: all.count - open.count,
      openRequests: open.count,
      oldestMs: all.oldest ?? undefined,
      newestMs: all.newest ?? undefined,
    };
  },
};
