/**
 * From settings to a running engine: finds or fetches the model file and starts the embedded engine
 * on it. The server, the library and the agent command all open their model here.
 */
import { unlessAborted } from "../engine/unless-aborted.ts";
import {
  type EmbeddedEngine,
  type EmbeddedEngineOptions,
  startEmbeddedEngine,
} from "../llama/embedded-engine.ts";
import { EngineStartError } from "./engine-start-error.ts";
import type { Report } from "./progress.ts";
import { ensureDefaultModel, localModel, type ServedModelFile } from "./served-model.ts";

/** A part of the configuration, under its names there. */
export interface OpenModelSettings
  extends Pick<EmbeddedEngineOptions, "slots" | "threads" | "numerics" | "kvType"> {
  /** A GGUF file; undefined: the default model, fetched when it is not there. */
  readonly model: string | undefined;
  /** Tokens of one sequence; undefined: 4,096, or what the model was trained for if less. */
  readonly context: number | undefined;
  /** Seconds without a sign of life; undefined: by the size of the model. */
  readonly watchdog?: number | undefined;
  /** Bytes that idle sequences may keep for later prompts; undefined: 1 GiB. */
  readonly prefixCache?: number;
  /** Layers that a GPU computes; default 0. */
  readonly gpuLayers?: number;
  /** Bytes that the engine may take; undefined: what is free. */
  readonly memory?: number | undefined;
  /** Prompts that may wait for a slot; undefined: 8,192. */
  readonly queue?: number;
  /** The cache folder. */
  readonly cache: string;
}

export interface OpenModelOptions {
  readonly log: EmbeddedEngineOptions["log"];
  /** Ends the fetching and the starting. */
  readonly signal: AbortSignal;
  /** Who is told about a download; by default the terminal. */
  readonly report?: Report;
}

export interface OpenedModel {
  readonly file: ServedModelFile;
  readonly engine: EmbeddedEngine;
}

/**
 * Throws a ModelFileError, a FetchError or an EngineStartError, each with one line for the user;
 * the signal's reason when it was aborted.
 */
export async function openModel(
  settings: OpenModelSettings,
  options: OpenModelOptions,
): Promise<OpenedModel> {
  const file = await findModelFile(settings, options);
  options.signal.throwIfAborted();
  return { file, engine: await startEngine(file, settings, options) };
}

async function findModelFile(
  { model, cache }: OpenModelSettings,
  { signal, report }: OpenModelOptions,
): Promise<ServedModelFile> {
  if (model !== undefined) return localModel(model);
  return ensureDefaultModel({ cache, signal, ...(report === undefined ? {} : { report }) });
}

async function startEngine(
  file: ServedModelFile,
  settings: OpenModelSettings,
  { log, signal }: OpenModelOptions,
): Promise<EmbeddedEngine> {
  const { context, slots, threads, numerics, kvType } = settings;
  const { path: modelPath, artifact } = file;
  const { cache: cacheFolder, gpuLayers } = settings;
  const engineOptions = { modelPath, artifact, contextLength: context, slots, threads, numerics };
  const { prefixCache: prefixCacheBytesMax, watchdog: watchdogSeconds, memory, queue } = settings;
  const cacheLimit = prefixCacheBytesMax === undefined ? {} : { prefixCacheBytesMax };
  const starting = startEmbeddedEngine(
    {
      ...engineOptions,
      ...cacheLimit,
      queuedJobsMax: queue,
      cacheFolder,
      gpuLayers,
      memoryBytesMax: memory,
      watchdogSeconds,
      kvType,
      log,
    },
    signal,
  ).catch((error) => {
    throw new EngineStartError((error as Error).message, { cause: error });
  });
  try {
    return await unlessAborted(starting, signal);
  } catch (error) {
    // Nobody waits for an engine that starts after all.
    if (signal.aborted) starting.then((engine) => engine.close()).catch(() => undefined);
    throw error;
  }
}
