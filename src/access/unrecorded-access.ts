/**
 * Access without a database: keys of the configuration alone, no limits, nothing written down. For
 * programs that run the engine for themselves, and for tests.
 */
import { ApiError } from "../contract/errors.ts";
import type { Access, Principal, Reservation } from "./access.ts";
import { bearerKey, maskKey } from "./bearer-key.ts";
import { configuredKeys } from "./configured-keys.ts";

/** Whoever asks where no keys are in use. */
export const anybody: Principal = { keyId: undefined, name: "", owner: "", models: undefined };

/** Without keys everybody is the same principal. */
export function unrecordedAccess(keys: readonly string[] = []): Access {
  const find = configuredKeys(keys);
  return {
    keysInUse: keys.length > 0,
    authenticate: async (authorization) =>
      keys.length === 0 ? anybody : principalOf(authorization, find),
    reserve: async () => unlimited,
    usage: async () => [],
    health: () => ({ writable: true, lagMs: 0, pendingWrites: 0 }),
    close: async () => {},
  };
}

const unlimited: Reservation = {
  headers: {},
  // Nobody can revoke anything here.
  signal: new AbortController().signal,
  settle: async () => {},
};

function principalOf(
  authorization: string | undefined,
  find: (key: string) => Principal | undefined,
): Principal {
  const key = bearerKey(authorization);
  if (key === "") throw new ApiError("missingKey");
  const principal = find(key);
  if (principal === undefined) throw new ApiError("wrongKey", { maskedKey: maskKey(key) });
  return principal;
}
