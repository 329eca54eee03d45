/** The bytes of a token as it is written in `tokens`. */
export function bytesOf(token: string): Buffer {
  if (!token.startsWith("bytes:")) return Buffer.from(token);
  const escaped = token.slice("bytes:".length);
  const bytes = escaped.replaceAll(/\\\\|\\x([0-9a-f]{2})/g, (_, hex?: string) =>
    hex === undefined ? "\\" : String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return Buffer.from(bytes, "latin1");
}
