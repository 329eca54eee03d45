/** `completionist usage`: reports from the ledger, with or without a server that runs. */
import { configuredPrefix } from "../access/configured-keys.ts";
import { openKeyStore, type StoredKey } from "../access/key-store.ts";
import { openLedger } from "../access/ledger.ts";
import type { DatabaseSettings } from "../access/location.ts";
import type { LedgerOwner } from "../access/operations/usage.ts";
import type { LoadedConfiguration } from "../config/load.ts";
import { databaseOf, tell } from "./data-settings.ts";
import { unknownKey } from "./keys.ts";
import { print } from "./print.ts";
import { readUsageOptions, type UsageWords } from "./usage-options.ts";
import { requestLines } from "./usage-requests.ts";
import { sumsText } from "./usage-sums.ts";

/** Prints sums or requests. */
export async function usage(loaded: LoadedConfiguration, words: UsageWords): Promise<number> {
  const { by, range, key, form } = readUsageOptions(words);
  const settings = databaseOf(loaded);
  const owner = key === undefined ? undefined : await ownerOf(settings, key);
  const ledger = await openLedger(settings);
  try {
    if (by === undefined) {
      await print(requestLines(ledger.rows({ ...range, owner }), form));
      return 0;
    }
    const rows = await ledger.usage({ ...range, by }, owner);
    if (rows.length === 0 && form === "table") tell("Nothing was used.");
    else await print(sumsText({ by, rows }, form));
    return 0;
  } finally {
    await ledger.close();
  }
}

/** Keys of the configuration have no row: they are known by the names that they get there. */
async function ownerOf(settings: DatabaseSettings, idOrName: string): Promise<LedgerOwner> {
  if (idOrName.startsWith(configuredPrefix)) return { keyId: undefined, name: idOrName };
  const keys = await openKeyStore(settings, { mustExist: true });
  try {
    const stored = await keys.list();
    const { id, name } = lastNamed(stored, idOrName) ?? fail(stored, idOrName);
    return { keyId: id, name };
  } finally {
    await keys.close();
  }
}

/** Of several keys that had a name after each other the one that holds, else the last one. */
function lastNamed(stored: readonly StoredKey[], idOrName: string): StoredKey | undefined {
  const named = stored.filter(({ id, name }) => id === idOrName || name === idOrName);
  return named.find((key) => key.revokedMs === undefined) ?? named.at(-1);
}

function fail(stored: readonly StoredKey[], idOrName: string): never {
  throw unknownKey(stored, idOrName);
}
