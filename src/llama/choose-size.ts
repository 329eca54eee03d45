/** Decides on an engine's size before its process starts, and tells what it will take. */
import { type AvailableMemory, bytesText, planEngineSize, type WantedSize } from "./engine-size.ts";
import { freeMemoryBytes } from "./free-memory.ts";
import { readGgufHeader } from "./gguf-header.ts";

export interface SizeRequest extends Omit<WantedSize, "gpuLayers"> {
  readonly gpuLayers?: number | undefined;
  readonly modelPath: string;
  /** The artifact's name, for the user. */
  readonly artifact: string;
  readonly memoryBytesMax?: number | undefined;
  readonly log: { info(text: string): void; warn(text: string): void };
}

/** Throws a ModelFileError or an EngineSizeError, each one sentence. */
export function chooseSize(
  request: SizeRequest,
  freeBytes = freeMemoryBytes(),
): { readonly contextLength: number; readonly slots: number } {
  const { modelPath, artifact, log } = request;
  const available: AvailableMemory = { freeBytes, limitBytes: request.memoryBytesMax };
  const header = readGgufHeader(modelPath);
  // On Apple's machines the GPU uses the same memory.
  const gpuLayers = process.platform === "darwin" ? 0 : (request.gpuLayers ?? 0);
  const size = planEngineSize(header, { ...request, gpuLayers }, available);
  for (const warning of size.warnings) log.warn(warning);
  const { contextLength, slots, memory } = size;
  const sequences = slots === 1 ? "1 sequence" : `${slots} sequences`;
  log.info(
    `Loading ${artifact} (${bytesText(header.neededBytes)}): ${sequences} of ${contextLength} tokens, ` +
      `about ${bytesText(memory.total)} of memory.`,
  );
  return { contextLength, slots };
}
