/**
 * `system_fingerprint`: changes when the model file, the library, the numerics or the sampling code
 * changes, and for no other reason. On one machine an equal fingerprint and an equal request with a
 * seed give an equal answer; processors of another kind may round otherwise.
 */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import { samplingRevision } from "../sampling/revision.ts";

export interface FingerprintParts {
  /** SHA-256 of the model's files, in hex. */
  readonly modelHash: string;
  readonly libraryVersion: string;
  readonly numerics: string;
  readonly kvType: string;
  readonly gpuLayers: number;
}

export function fingerprintOf(parts: FingerprintParts): string {
  const { modelHash, libraryVersion, numerics, kvType, gpuLayers } = parts;
  const computed = [modelHash, libraryVersion, numerics, kvType, samplingRevision];
  if (gpuLayers > 0) computed.push(`${gpuLayers} layers on a GPU`);
  const identity = computed.join("\n");
  return `fp_${createHash("sha256").update(identity).digest("hex").slice(0, 12)}`;
}

/**
 * SHA-256 of a model's files, in hex, read as streams. Of a split model it covers the bytes of all
 * parts in their order.
 */
export async function hashModelFiles(paths: readonly string[]): Promise<string> {
  const hash = createHash("sha256");
  for (const path of paths) {
    await pipeline(createReadStream(path, { highWaterMark: 1 << 20 }), hash, { end: false });
  }
  return hash.digest("hex");
}
