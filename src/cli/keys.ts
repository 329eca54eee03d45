/** `completionist keys`: makes, lists, changes and ends keys, with or without a server that runs. */
import {
  type KeyStore,
  type KeyWithSecret,
  openKeyStore,
  type StoredKey,
} from "../access/key-store.ts";
import { closestName } from "../config/configuration-error.ts";
import type { LoadedConfiguration } from "../config/load.ts";
import { databaseOf, isoText, tell } from "./data-settings.ts";
import { type KeyWords, readKeyUpdate, readNewKey } from "./keys-options.ts";
import { keyJson, keysTable, limitsText, stateOf } from "./keys-text.ts";
import { print } from "./print.ts";
import { shellWord } from "./shell-word.ts";
import { printable, printableJson } from "./text-columns.ts";
import { UserError } from "./user-error.ts";

export interface Shape {
  readonly json?: boolean;
}

/** Makes a key and prints its secret, alone on standard output. */
export async function createKey(
  loaded: LoadedConfiguration,
  { name, json, ...words }: KeyWords & Shape & { readonly name: string },
): Promise<number> {
  const wanted = readNewKey(name, words, Date.now());
  return withKeys(loaded, {}, async (keys) => {
    const first = (await keys.list()).length === 0;
    const made = await keys.create(wanted);
    tell(`Made the key "${name}" (${made.key.id}): ${describe(made.key)}.`);
    if (first) {
      tell("It is the first key: from now on servers on this database ask everybody for one.");
    }
    return printSecret(made, json);
  });
}

/** Lists keys: all that were not revoked, or really all. */
export async function listKeys(
  loaded: LoadedConfiguration,
  { all, json }: Shape & { readonly all?: boolean },
): Promise<number> {
  return withKeys(loaded, { mustExist: true }, async (keys) => {
    const stored = await keys.list();
    const shown = stored.filter((key) => all || key.revokedMs === undefined);
    const nowMs = Date.now();
    if (json) {
      await print([`${printableJson(shown.map((key) => keyJson(key, nowMs)))}\n`]);
    } else if (shown.length > 0) {
      await print(keysTable(shown, nowMs).map((line) => `${line}\n`));
    }
    if (stored.length === 0) tell("There are no keys: everybody may ask.");
    else if (shown.length < stored.length) {
      tell(`${stored.length - shown.length} revoked; --all shows them too.`);
    }
    return 0;
  });
}

/** Ends keys for good: all that are named, or none when one of them is not there. */
export async function revokeKeys(
  loaded: LoadedConfiguration,
  names: readonly string[],
): Promise<number> {
  return withKeys(loaded, { mustExist: true }, async (keys) => {
    const stored = await keys.list();
    const ids = new Set(names.map((name) => findHolding(stored, name).id));
    for (const id of ids) {
      const { name } = await keys.revoke(id);
      await print([
        `Revoked "${printable(name)}" (${id}): refused from now on; its running requests end ` +
          "within a second.\n",
      ]);
    }
    return 0;
  });
}

/** Gives a key another secret and prints it, alone on standard output. */
export async function rotateKey(
  loaded: LoadedConfiguration,
  name: string,
  { json }: Shape,
): Promise<number> {
  return withKeys(loaded, { mustExist: true }, async (keys) => {
    const { id } = findHolding(await keys.list(), name);
    const made = await keys.rotate(id);
    tell(
      `Another secret for the key "${printable(made.key.name)}" (${id}); the one before holds no ` +
        "more.",
    );
    if (stateOf(made.key, Date.now()) === "expired") {
      tell("The key has expired, and so has this secret: keys update --expires makes it hold.");
    }
    return printSecret(made, json);
  });
}

/** Changes what a key may do. */
export async function updateKey(
  loaded: LoadedConfiguration,
  name: string,
  { json, ...words }: KeyWords & Shape,
): Promise<number> {
  const update = readKeyUpdate(words, Date.now());
  return withKeys(loaded, { mustExist: true }, async (keys) => {
    const { id } = findHolding(await keys.list(), name);
    const key = await keys.update(id, update);
    const line = json
      ? printableJson(keyJson(key, Date.now()))
      : `Changed "${printable(key.name)}" (${id}): ${describe(key)}.`;
    await print([`${line}\n`]);
    return 0;
  });
}

async function withKeys(
  loaded: LoadedConfiguration,
  options: { readonly mustExist?: boolean },
  work: (keys: KeyStore) => Promise<number>,
): Promise<number> {
  const keys = await openKeyStore(databaseOf(loaded), options);
  try {
    return await work(keys);
  } finally {
    await keys.close();
  }
}

async function printSecret(
  { key, secret }: KeyWithSecret,
  json: boolean | undefined,
): Promise<number> {
  tell("The secret is shown only once: what is kept is its digest.");
  const text = json ? printableJson({ ...keyJson(key, Date.now()), secret }) : secret;
  // Who cannot read it cannot use the key.
  const again = `get another with: completionist keys rotate ${shellWord(key.name)}`;
  const lost = () => new UserError(`the secret could not be printed; ${again}`);
  const printed = await print([`${text}\n`]).catch(() => false);
  if (!printed) throw lost();
  return 0;
}

function describe({ limits, expiresMs, models }: StoredKey): string {
  const expiry = expiresMs === undefined ? "never expires" : `expires ${isoText(expiresMs)}`;
  const names = models === undefined ? "all models" : `models ${printable(models.join(", "))}`;
  return `limits ${limitsText(limits)}; ${names}; ${expiry}`;
}

/** The key that is not revoked. Throws a UserError that names the nearest one. */
function findHolding(stored: readonly StoredKey[], idOrName: string): StoredKey {
  const named = stored.filter(({ id, name }) => id === idOrName || name === idOrName);
  const holding = named.find((key) => key.revokedMs === undefined);
  if (holding !== undefined) return holding;
  if (named.length > 0) throw new UserError(`the key "${idOrName}" is revoked already`);
  throw unknownKey(stored, idOrName);
}

/** The error for a name that no key has. */
export function unknownKey(stored: readonly StoredKey[], idOrName: string): UserError {
  const names = stored.filter((key) => key.revokedMs === undefined).map((key) => key.name);
  const closest = closestName(idOrName, names);
  const hint = closest === undefined ? "" : ` (did you mean "${closest}"?)`;
  return new UserError(`there is no key "${printable(idOrName)}"${printable(hint)}`);
}
