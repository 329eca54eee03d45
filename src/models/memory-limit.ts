/** What all loaded models may take together. */
import { freeMemoryBytes } from "../llama/free-memory.ts";
import type { MemoryLimit } from "./model-pool.ts";

/** Left to the server itself and to the rest of the machine. */
const reserve = { bytes: 512 * 1024 ** 2, share: 0.1 } as const;

/**
 * The setting `memory`, or what is free now less a reserve. A limit that nobody set is no reason to
 * refuse a model: what is free may change until it is loaded, and then the engine decides.
 */
export function memoryLimit(
  setting: number | undefined,
  freeBytes = freeMemoryBytes(),
): MemoryLimit {
  if (setting !== undefined) return { bytesMax: setting, strict: true };
  const kept = Math.max(reserve.bytes, freeBytes * reserve.share);
  return { bytesMax: Math.max(0, Math.floor(freeBytes - kept)), strict: false };
}
