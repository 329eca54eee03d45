/** Random names: of a completion (`cmpl-`), of a request (`req_`), and padding for obfuscation. */
import { randomBytes } from "node:crypto";

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/** The largest multiple of 62 in a byte: bytes from here on would favour the first letters. */
const unbiasedBelow = 248;

export const newCompletionId = (): string => `cmpl-${randomBase62(29)}`;

export const newRequestId = (): string => `req_${randomBytes(16).toString("hex")}`;

export function randomBase62(length: number): string {
  let text = "";
  while (text.length < length) {
    for (const byte of randomBytes(length - text.length)) {
      if (byte < unbiasedBelow) text += base62[byte % base62.length];
    }
  }
  return text;
}
