/** From the `tokens` of an answer back to bytes, text and offsets, apart from the server's own code. */

const encoder = new TextEncoder();

/** The bytes of an entry: its text, or what stands escaped behind `bytes:`. */
export function tokenBytes(token: string): number[] {
  if (!token.startsWith("bytes:")) return [...encoder.encode(token)];
  const bytes: number[] = [];
  const escaped = /\\x([0-9a-f]{2})|\\\\|([\x20-\x5b\x5d-\x7e])/gy;
  escaped.lastIndex = "bytes:".length;
  while (escaped.lastIndex < token.length) {
    const match = escaped.exec(token);
    if (match === null) throw new Error(`not a byte token: ${token}`);
    const [, hexadecimal, plain] = match;
    if (hexadecimal !== undefined) bytes.push(Number.parseInt(hexadecimal, 16));
    else bytes.push((plain ?? "\\").charCodeAt(0));
  }
  return bytes;
}

export function decode(bytes: readonly number[]): string {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(Uint8Array.from(bytes));
}

export const codePoints = (text: string): number => [...text].length;

/**
 * For each token the code points of the whole text that end before its first byte. Where a
 * character spans the boundary, decoding both sides apart gives another text than decoding the
 * whole; its part in front then counts as one replacement character, which is no complete one.
 */
export function recountOffsets(tokens: readonly (readonly number[])[]): number[] {
  const whole = tokens.flat();
  const text = decode(whole);
  let start = 0;
  return tokens.map((bytes) => {
    const front = decode(whole.slice(0, start));
    const isBoundary = front + decode(whole.slice(start)) === text;
    start += bytes.length;
    return codePoints(front) - (isBoundary ? 0 : 1);
  });
}
