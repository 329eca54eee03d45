/** The Authorization header against the configured keys. */
import { createHash, timingSafeEqual } from "node:crypto";
import { ApiError } from "../contract/errors.ts";

/** Gives the identity of the key: a name that does not tell the key. */
export type KeyCheck = (authorization: string | undefined) => string;

/** A check that throws an ApiError unless the header carries one of the keys. */
export function createKeyCheck(keys: readonly string[]): KeyCheck {
  const digests = keys.map(digest);
  return (authorization) => {
    const key = bearerKey(authorization);
    if (key === "") throw new ApiError("missingKey");
    const given = digest(key);
    // All digests are compared, so that the time says nothing about which one is near.
    let matches = 0;
    for (const known of digests) matches += timingSafeEqual(known, given) ? 1 : 0;
    if (matches === 0) throw new ApiError("wrongKey", { maskedKey: maskKey(key) });
    return given.toString("hex");
  };
}

const digest = (key: string): Buffer => createHash("sha256").update(key).digest();

function bearerKey(authorization: string | undefined): string {
  return /^bearer\s+(.*)$/i.exec(authorization ?? "")?.[1]?.trim() ?? "";
}

const [shownStart, shownEnd] = [8, 4];

/** Enough of a key for its owner to know it by: the ends of a long one, little of a short one. */
export function maskKey(key: string): string {
  if (key.length < 2 * (shownStart + shownEnd)) return `${key.slice(0, key.length / 4)}****`;
  return `${key.slice(0, shownStart)}****${key.slice(-shownEnd)}`;
}
