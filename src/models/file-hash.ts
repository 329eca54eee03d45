/** SHA-256 of files. */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { pipeline } from "node:stream/promises";

const chunkBytes = 1024 * 1024;

/** Lower-case hexadecimal; undefined when the file is not there. */
export async function sha256Of(path: string): Promise<string | undefined> {
  const hash = createHash("sha256");
  try {
    await pipeline(createReadStream(path, { highWaterMark: chunkBytes }), hash);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  return hash.digest("hex");
}
