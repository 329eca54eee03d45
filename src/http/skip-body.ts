/** Reads on without keeping anything, so that a client still sending gets to read its answer. */
import type { IncomingMessage } from "node:http";

/** More than this is not waited for: the connection is then closed over the client's head. */
const skippedBytesMax = 64 * 1024 * 1024;
const skipMs = 5000;

/** Resolves when the body has ended, the client is gone, or the limits are reached. */
export function skipBody(raw: IncomingMessage): Promise<void> {
  if (raw.readableEnded || raw.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    let skipped = 0;
    const count = (bytes: Buffer) => {
      skipped += bytes.length;
      if (skipped > skippedBytesMax) settle();
    };
    const settle = () => {
      clearTimeout(timer);
      raw.off("data", count).off("end", settle).off("close", settle).off("error", settle);
      raw.pause();
      resolve();
    };
    const timer = setTimeout(settle, skipMs);
    raw.on("data", count).on("end", settle).on("close", settle).on("error", settle);
    raw.resume();
  });
}
