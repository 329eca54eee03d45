/** Opens the keys, limits and the ledger of a server as its configuration says. */
import type { Access } from "../access/access.ts";
import { openAccess } from "../access/open-access.ts";
import type { Configuration } from "../config/settings.ts";
import type { Log } from "../observe/log.ts";

/** Rejects with one line for the user when the database cannot be opened. */
export function openServerAccess(
  { apiKey, data, database, keepUsage }: Configuration,
  log: Log,
): Promise<Access> {
  return openAccess({
    configuredKeys: apiKey,
    dataFolder: data,
    database,
    keepUsageDays: keepUsage,
    log,
  });
}
