/**
 * Access without a database: keys of the configuration alone, no limits, nothing written down. For
 * programs that run the engine for themselves, and for tests.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import { ApiError } from "../contract/errors.ts";
import type { Access, Principal, Reservation } from "./access.ts";
import { bearerKey, maskKey } from "./bearer-key.ts";

/** Whoever asks where no keys are in use. */
export const anybody: Principal = { keyId: undefined, name: "", owner: "", models: undefined };

/** Without keys everybody is the same principal. */
export function unrecordedAccess(keys: readonly string[] = []): Access {
  const digests = keys.map(digest);
  return {
    keysInUse: keys.length > 0,
    authenticate: async (authorization) =>
      keys.length === 0 ? anybody : principalOf(authorization, digests),
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

function principalOf(authorization: string | undefined, digests: readonly Buffer[]): Principal {
  const key = bearerKey(authorization);
  if (key === "") throw new ApiError("missingKey");
  const given = digest(key);
  // All digests are compared, so that the time says nothing about which one is near.
  let matches = 0;
  for (const known of digests) matches += timingSafeEqual(known, given) ? 1 : 0;
  if (matches === 0) throw new ApiError("wrongKey", { maskedKey: maskKey(key) });
  return { ...anybody, owner: given.toString("hex") };
}

const digest = (key: string): Buffer => createHash("sha256").update(key).digest();
