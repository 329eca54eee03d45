/** Text from outside as both databases can store it: well-formed, without NUL, not too long. */
import { createHash } from "node:crypto";

/** UTF-16 units of the field `user`, and of other texts of a ledger row. */
export const storedTextMax = 256;

const digestShown = 16;

/**
 * The text itself where it can be stored as it is. Else its beginning and a digest of the whole, so
 * that two callers whose names begin alike stay two: refusing would break clients that OpenAI
 * serves, and cutting alone would make strangers share their limits.
 */
export function storedText(text: string): string {
  const clean = text.toWellFormed().replaceAll("\0", "\ufffd");
  if (clean === text && text.length <= storedTextMax) return text;
  const digest = createHash("sha256").update(JSON.stringify(text)).digest("hex");
  const start = clean.slice(0, storedTextMax - digestShown - 1).toWellFormed();
  return `${start}~${digest.slice(0, digestShown)}`;
}

/** The user as stored; null where the request names none. */
export function storedUser(user: string | undefined): string | null {
  return user === undefined || user === "" ? null : storedText(user);
}
