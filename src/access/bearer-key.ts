/** The key in an Authorization header, and how much of a key a message may show. */

/** The key after `Bearer`; "" when there is none. */
export function bearerKey(authorization: string | undefined): string {
  return /^bearer\s+(.*)$/i.exec(authorization ?? "")?.[1]?.trim() ?? "";
}

const [shownStart, shownEnd] = [8, 4];

/** Enough of a key for its owner to know it by: the ends of a long one, little of a short one. */
export function maskKey(key: string): string {
  if (key.length < 2 * (shownStart + shownEnd)) return `${key.slice(0, key.length / 4)}****`;
  return `${key.slice(0, shownStart)}****${key.slice(-shownEnd)}`;
}
