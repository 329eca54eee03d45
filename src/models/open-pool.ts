/** From settings to a pool of embedded engines. */
import { dirname } from "node:path";
import type { EmbeddedEngineOptions } from "../llama/embedded-engine.ts";
import type { Insertion } from "./catalog.ts";
import { EngineStartError } from "./engine-start-error.ts";
import { type ExpectedSize, expectedSize } from "./expected-size.ts";
import { memoryLimit } from "./memory-limit.ts";
import { ModelPool } from "./model-pool.ts";
import { type OpenModelSettings, openModel } from "./open-model.ts";
import type { PooledModelOptions } from "./pooled-model.ts";
import type { Report } from "./progress.ts";
import { modelFolder } from "./served-model.ts";

export interface PoolEntry {
  /** The name in the API. */
  readonly id: string;
  readonly insertion: Insertion;
  /** Loaded when the program starts, not on first use. */
  readonly preload: boolean;
  readonly settings: OpenModelSettings;
}

export interface OpenPoolOptions {
  /** Bytes that all models may take together; undefined: what is free, less a reserve. */
  readonly memory: number | undefined;
  readonly log: EmbeddedEngineOptions["log"];
  /** Who is told about a download; by default the terminal. */
  readonly report?: Report;
}

/** Loads nothing yet. Throws a ModelFileError for a file that cannot be served. */
export function openPool(entries: readonly PoolEntry[], options: OpenPoolOptions): ModelPool {
  return new ModelPool({
    models: entries.map((entry) => pooledModel(entry, options)),
    memory: memoryLimit(options.memory),
    log: options.log,
  });
}

function pooledModel(
  { id, insertion, settings }: PoolEntry,
  { log, report }: OpenPoolOptions,
): PooledModelOptions {
  const told = report === undefined ? {} : { report };
  let expected: ExpectedSize = expectedSize(settings);
  return {
    id,
    created: Math.floor(Date.now() / 1000),
    insertion,
    expected,
    hiddenFolders: [
      settings.model === undefined ? modelFolder(settings.cache) : dirname(settings.model),
    ],
    estimateBytes: () => expected.bytes,
    load: async (signal) => {
      // The file may be there only now, or another one under the same name.
      const { engine } = await openModel(settings, { log, signal, ...told });
      const { contextLength: context, slots } = engine.describe();
      expected = expectedSize({ ...settings, context, slots });
      return engine;
    },
  };
}

/**
 * Loads what is to be loaded at the start, one after the other, and gives the names. Rejects with
 * what the load failed with, with an EngineStartError when not all of them fit at once, or with the
 * signal's reason.
 */
export async function preload(
  pool: ModelPool,
  entries: readonly PoolEntry[],
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  const wanted = new Set(entries.filter((entry) => entry.preload).map(({ id }) => id));
  const models = pool.models.filter(({ id }) => wanted.has(id));
  const shortage = pool.shortageOf(models);
  if (shortage !== undefined) throw new EngineStartError(shortage);
  for (const model of models) {
    try {
      const lease = await model.acquire(signal);
      lease.release();
    } catch (error) {
      throw (signal.aborted ? signal.reason : (error as Error).cause) ?? error;
    }
  }
  return wanted;
}
