/** How a single token is written in `tokens` and as a key of `top_logprobs`. */

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * The text of a token whose bytes are valid UTF-8 by themselves; else `bytes:` and the bytes, with
 * printable ASCII as it is, `\` as `\\` and every other byte as `\xNN` in lower case.
 */
export function renderToken(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch {
    return `bytes:${Array.from(bytes, escapeByte).join("")}`;
  }
}

function escapeByte(byte: number): string {
  if (byte === 0x5c) return "\\\\";
  if (byte >= 0x20 && byte < 0x7f) return String.fromCharCode(byte);
  return `\\x${byte.toString(16).padStart(2, "0")}`;
}
