/** Making and ending keys: for the command line, with or without a server that runs. */
import { randomBytes } from "node:crypto";
import { maskKey } from "./bearer-key.ts";
import { configuredPrefix, digestOf } from "./configured-keys.ts";
import {
  type KeyLimits,
  type LimitChanges,
  limitChanges,
  limitsFromColumns,
  limitsProblem,
  limitsToColumns,
} from "./key-limits.ts";
import { type DatabaseSettings, locateDatabase } from "./location.ts";
import { type OpenStoreOptions, openStore } from "./open-store.ts";
import { modelsOf } from "./operations/authenticate.ts";
import type { KeyChange, NewSecret } from "./operations/keys.ts";
import type { Store } from "./store.ts";
import type { KeyRow } from "./tables.ts";

export interface StoredKey {
  /** `key_...` */
  readonly id: string;
  readonly name: string;
  /** Enough of the secret for its owner to know it by. */
  readonly masked: string;
  readonly createdMs: number;
  readonly expiresMs: number | undefined;
  readonly revokedMs: number | undefined;
  /** When it last got another secret. */
  readonly rotatedMs: number | undefined;
  /** Some seconds old at most, while a server runs. */
  readonly lastUsedMs: number | undefined;
  /** undefined: all. */
  readonly models: readonly string[] | undefined;
  readonly limits: KeyLimits;
}

export interface NewKey {
  /** 1 to 100 characters, and in use by no other key. */
  readonly name: string;
  /** Unix milliseconds, in the future. */
  readonly expiresMs?: number;
  readonly models?: readonly string[];
  readonly limits?: KeyLimits;
}

/** What is to be another way; null: no expiry, all models, no such limit. */
export interface KeyUpdate {
  readonly expiresMs?: number | null;
  readonly models?: readonly string[] | null;
  readonly limits?: LimitChanges;
}

/** A secret is seen here and never again: only its digest is kept. */
export interface KeyWithSecret {
  readonly key: StoredKey;
  readonly secret: string;
}

/** What cannot be done with a key, in one sentence for people. */
export class KeyError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "KeyError";
  }
}

/** All of them reject with a KeyError when the key or the wish is at fault. */
export interface KeyStore {
  create(options: NewKey): Promise<KeyWithSecret>;
  /** All keys, oldest first, revoked ones too. */
  list(): Promise<readonly StoredKey[]>;
  /** Ends a key for good; running servers know within half a second. */
  revoke(idOrName: string): Promise<StoredKey>;
  /** Another secret for the same key, limits and usage; the one before stops at once. */
  rotate(idOrName: string): Promise<KeyWithSecret>;
  /** Changes what the key may do; the secret stays. Holds from its next request on. */
  update(idOrName: string, update: KeyUpdate): Promise<StoredKey>;
  close(): Promise<void>;
}

/** Opens or makes the database. Rejects with a DatabaseError, one sentence for people. */
export async function openKeyStore(
  settings: DatabaseSettings,
  options: Pick<OpenStoreOptions, "mustExist"> = {},
): Promise<KeyStore> {
  return keyStoreOn(await openStore(locateDatabase(settings), options));
}

export function keyStoreOn(store: Store): KeyStore {
  return {
    create: async (options) => {
      const { name, expiresMs, models, limits = {} } = options;
      checkNewKey(options);
      const { secret, ...stored } = newSecret();
      const row = await store.run("createKey", {
        id: `key_${randomBytes(12).toString("hex")}`,
        name,
        models,
        expiresMs,
        limits: limitsToColumns(limits),
        ...stored,
      });
      if (row === undefined) throw new KeyError(`There is a key named '${name}' already.`);
      return { key: storedKey(row), secret };
    },
    list: async () => (await store.run("listKeys", undefined)).map(storedKey),
    revoke: async (idOrName) => changed(await store.run("revokeKey", { idOrName }), idOrName),
    rotate: async (idOrName) => {
      const { secret, ...stored } = newSecret();
      const change = await store.run("rotateKey", { idOrName, ...stored });
      return { key: changed(change, idOrName), secret };
    },
    update: async (idOrName, update) => {
      checkKeyUpdate(update);
      const { expiresMs, models, limits = {} } = update;
      const change = {
        ...limitChanges(limits),
        ...(expiresMs === undefined ? {} : { expires_ms: expiresMs }),
        ...(models === undefined ? {} : { models: models && JSON.stringify(models) }),
      };
      return changed(await store.run("updateKey", { idOrName, change }), idOrName);
    },
    close: () => store.close(),
  };
}

/** 256 random bits, under OpenAI's well-known beginning. */
function newSecret(): NewSecret & { readonly secret: string } {
  const secret = `sk-${randomBytes(32).toString("base64url")}`;
  return { secret, secretHash: digestOf(secret).toString("hex"), masked: maskKey(secret) };
}

const nameLengthMax = 100;
/** Models that one key may list. */
const modelsMax = 1000;

/** Throws a KeyError. */
export function checkNewKey({ name, ...rest }: NewKey): void {
  if (!/^[^\p{C}]+$/u.test(name) || name.trim() !== name || name.length > nameLengthMax) {
    throw new KeyError(
      `A key's name has 1 to ${nameLengthMax} printable characters, and no space at its ends.`,
    );
  }
  if (name.startsWith("key_") || name.startsWith(configuredPrefix)) {
    throw new KeyError(`A key's name must not begin with 'key_' or '${configuredPrefix}'.`);
  }
  checkKeyUpdate(rest);
}

/** Throws a KeyError. */
export function checkKeyUpdate({ expiresMs, models, limits = {} }: KeyUpdate): void {
  const expires = typeof expiresMs === "number";
  if (expires && !(Number.isSafeInteger(expiresMs) && expiresMs > Date.now())) {
    throw new KeyError("A key can only expire in the future.");
  }
  if (models?.length === 0) throw new KeyError("A key that may use no model is of no use.");
  if ((models?.length ?? 0) > modelsMax) {
    throw new KeyError(`A key lists ${modelsMax} models at most.`);
  }
  const problem = limitsProblem(limits);
  if (problem !== undefined) throw new KeyError(problem);
}

function changed(change: KeyChange, idOrName: string): StoredKey {
  if (change.kind === "unknown") throw new KeyError(`There is no key '${idOrName}'.`);
  if (change.kind === "revoked") throw new KeyError(`The key '${idOrName}' is revoked already.`);
  return storedKey(change.key);
}

function storedKey(row: KeyRow): StoredKey {
  return {
    id: row.id,
    name: row.name,
    masked: row.masked,
    createdMs: row.created_ms,
    expiresMs: row.expires_ms ?? undefined,
    revokedMs: row.revoked_ms ?? undefined,
    rotatedMs: row.rotated_ms ?? undefined,
    lastUsedMs: row.last_used_ms ?? undefined,
    models: modelsOf(row.models),
    limits: limitsFromColumns(row),
  };
}
