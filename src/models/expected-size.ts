/** What a model will be like once it is loaded, from the header of its file and its settings. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { defaultContextLength, defaultSlots, planEngineSize } from "../llama/engine-size.ts";
import { freeMemoryBytes } from "../llama/free-memory.ts";
import { type GgufHeader, readGgufHeader } from "../llama/gguf-header.ts";
import {
  checkCacheFormat,
  estimateMemory,
  trainedContextLength,
} from "../llama/memory-estimate.ts";
import { defaultModel } from "./default-model.ts";
import type { OpenModelSettings } from "./open-model.ts";
import { modelFolder } from "./served-model.ts";

export interface ExpectedSize {
  /** Tokens of one sequence. */
  readonly contextLength: number;
  readonly slots: number;
  /** Memory in all. */
  readonly bytes: number;
}

/** Of the default model while its file is not there: about, and only until it is. */
const unfetched = { bytes: 400 * 1024 ** 2, bytesPerToken: 23_040 } as const;

/** Throws a ModelFileError when the file cannot be served, a RangeError for a wrong cache format. */
export function expectedSize(settings: OpenModelSettings): ExpectedSize {
  const path = settings.model ?? join(modelFolder(settings.cache), defaultModel.servedFileName);
  if (settings.model === undefined && !existsSync(path)) {
    const { context: contextLength = defaultContextLength, slots = defaultSlots } = settings;
    const bytes = unfetched.bytes + unfetched.bytesPerToken * contextLength * slots;
    return { contextLength, slots, bytes };
  }
  return sizeOf(readGgufHeader(path), settings);
}

function sizeOf(header: GgufHeader, settings: OpenModelSettings): ExpectedSize {
  const { context, slots, numerics, kvType, memory } = settings;
  checkCacheFormat(header, { numerics, kvType });
  const gpuLayers = process.platform === "darwin" ? 0 : (settings.gpuLayers ?? 0);
  try {
    const wanted = { contextLength: context, slots, numerics, kvType, gpuLayers };
    const available = { freeBytes: freeMemoryBytes(), limitBytes: memory };
    const plan = planEngineSize(header, wanted, available);
    return { contextLength: plan.contextLength, slots: plan.slots, bytes: plan.memory.total };
  } catch {
    // Memory does not suffice. It will be refused; what it takes as it was asked for is what the refusal names.
    const contextLength = context ?? Math.min(defaultContextLength, trainedContextLength(header));
    const size = { contextLength, slots: slots ?? defaultSlots };
    const { total } = estimateMemory(header, { ...size, numerics, kvType, gpuLayers });
    return { ...size, bytes: total };
  }
}
