/** Deleting old rows of the ledger, by a server's upkeep and from the command line. */
import { type DatabaseSettings, locateDatabase } from "./location.ts";
import { openStore } from "./open-store.ts";
import { deleteBatchMax } from "./operations/maintain.ts";
import type { Store } from "./store.ts";

export const dayMs = 86_400_000;

/**
 * Deletes rows that ended and were let in before that time, a batch in a transaction, so that
 * requests get their turn in between. Resolves with the number of rows.
 */
export async function deleteRowsBefore(store: Store, beforeMs: number): Promise<number> {
  let rows = 0;
  for (;;) {
    const deleted = await store.run("deleteOldRequests", { beforeMs });
    rows += deleted;
    if (deleted < deleteBatchMax) return rows;
  }
}

/** Keeps the rows of so many days. Rejects with a DatabaseError, also without a database. */
export async function pruneUsage(settings: DatabaseSettings, keepDays: number): Promise<number> {
  const store = await openStore(locateDatabase(settings), { mustExist: true });
  try {
    return await deleteRowsBefore(store, Date.now() - keepDays * dayMs);
  } finally {
    await store.close();
  }
}
