/**
 * The embedded engine as the server sees it: an engine process that is started again when it dies.
 * Requests that come while it starts wait for it; after repeated failures they are refused.
 */
import type {
  Engine,
  EngineDescription,
  EngineEvent,
  Job,
  TokenizeOptions,
} from "../engine/engine.ts";
import { unlessAborted } from "../engine/unless-aborted.ts";
import { TableVocabulary } from "../engine/vocabulary-table.ts";
import { addCounts, type EngineStats, restingStats, zeroCounts } from "../observe/engine-stats.ts";
import { queuedJobsMax } from "../scheduler/scheduler.ts";
import { chooseSize } from "./choose-size.ts";
import { EngineChild, type EngineChildOptions, type EngineLog } from "./engine-child.ts";
import { EngineKeeper, type EngineState } from "./engine-keeper.ts";
import { fingerprintOf } from "./fingerprint.ts";
import { readGgufHeader } from "./gguf-header.ts";
import type { LoadedModel, LoadOptions } from "./messages.ts";
import { filesState, ModelIdentity } from "./model-identity.ts";
import { type WatchdogLimits, watchdogLimits } from "./watchdog-limits.ts";

export type { EngineState };

export interface EmbeddedEngineOptions extends Omit<LoadOptions, "prefixCacheBytesMax" | "slots"> {
  /** Undefined: 8, or fewer where memory is short. */
  readonly slots: number | undefined;
  /** What the engine may take; undefined: what is free. */
  readonly memoryBytesMax?: number | undefined;
  /** Default 1 GiB. */
  readonly prefixCacheBytesMax?: number;
  /**
   * Seconds without a sign of life after which the process is replaced; 0: never; undefined: by the
   * size of the model.
   */
  readonly watchdogSeconds?: number | undefined;
  /** The artifact's name, for clients. */
  readonly artifact: string;
  readonly log: EngineLog;
  /** Starts a process, for tests; by default an engine process. */
  readonly startProcess?: EngineChildOptions["startProcess"];
}

type SizedOptions = EmbeddedEngineOptions & Pick<LoadOptions, "slots">;

const defaultPrefixCacheBytesMax = 1024 ** 3;
/**
 * How often one request is given to an engine process that then dies without a word about it. Not
 * more: it may be the request that kills it.
 */
const attemptsMax = 2;

/**
 * Rejects with an Error of one clear sentence. A signal ends a start that is under way, the process
 * included, however deep in the library it is.
 */
export async function startEmbeddedEngine(
  wanted: EmbeddedEngineOptions,
  signal?: AbortSignal,
): Promise<EmbeddedEngine> {
  signal?.throwIfAborted();
  // Once: an engine that is started again has the size that the first one had.
  const options: SizedOptions = { ...wanted, ...chooseSize(wanted) };
  const limits = limitsOf(options);
  const child = startChild(options, limits);
  const stop = () => child.stop();
  signal?.addEventListener("abort", stop, { once: true });
  try {
    const starting = Promise.all([child.loaded(), ModelIdentity.of(options.modelPath)]);
    const [model, identity] = await starting;
    return new EmbeddedEngine(options, { child, limits, model, identity });
  } catch (error) {
    child.stop();
    throw error;
  } finally {
    signal?.removeEventListener("abort", stop);
  }
}

interface StartedEngine {
  readonly child: EngineChild;
  readonly limits: WatchdogLimits;
  readonly model: LoadedModel;
  readonly identity: ModelIdentity;
}

export class EmbeddedEngine implements Engine {
  readonly #description: EngineDescription;
  readonly #keeper: EngineKeeper<EngineChild>;
  /** Of the processes that have ended. */
  #endedCounts = zeroCounts;

  constructor(options: SizedOptions, { child, limits, model, identity }: StartedEngine) {
    this.#description = describe(options, model, identity.hash);
    this.#keeper = new EngineKeeper<EngineChild>(
      {
        start: () => startChild(options, limits),
        checkFiles: () => identity.check(),
        filesState: () => filesState(identity.paths),
        waitingMax: options.queuedJobsMax ?? queuedJobsMax,
        onEnded: ({ stats }) => {
          this.#endedCounts = addCounts(this.#endedCounts, stats?.counts ?? zeroCounts);
        },
        log: options.log,
      },
      child,
    );
  }

  describe(): EngineDescription {
    return this.#description;
  }

  state(): EngineState {
    return this.#keeper.state();
  }

  /** As last reported: up to a quarter of a second old while the engine works. */
  stats(): EngineStats {
    const { slots, contextLength } = this.#description;
    const ready = this.#keeper.state().state === "ready";
    const stats = ready ? this.#keeper.process.stats : undefined;
    if (stats === undefined) {
      return restingStats({ slots, capacityTokens: slots * contextLength }, this.#endedCounts);
    }
    return { ...stats, counts: addCounts(this.#endedCounts, stats.counts) };
  }

  async tokenize(text: string, options: TokenizeOptions): Promise<readonly number[]> {
    for (let attempt = 1; ; attempt++) {
      const child = await this.#keeper.ready(undefined);
      try {
        return await child.tokenize(text, options);
      } catch (error) {
        if (child.alive || attempt >= attemptsMax) throw error;
        await child.ended; // by then the keeper has the next one
      }
    }
  }

  /** A job of which nothing was told yet is run again when its process dies. */
  async *run(job: Job, signal: AbortSignal): AsyncGenerator<EngineEvent> {
    for (let attempt = 1; ; attempt++) {
      const child = await this.#keeper.ready(signal);
      let begun = false;
      try {
        for await (const event of child.run(job, signal)) {
          begun = true;
          yield event;
        }
        return;
      } catch (error) {
        if (begun || signal.aborted || child.alive || attempt >= attemptsMax) throw error;
        await unlessAborted(child.ended, signal);
      }
    }
  }

  close(): Promise<void> {
    return this.#keeper.close();
  }
}

function startChild(options: SizedOptions, limits: WatchdogLimits): EngineChild {
  const { modelPath, contextLength, slots, threads, numerics, kvType, log } = options;
  const prefixCacheBytesMax = options.prefixCacheBytesMax ?? defaultPrefixCacheBytesMax;
  const limit = {
    prefixCacheBytesMax,
    queuedJobsMax: options.queuedJobsMax,
    cacheFolder: options.cacheFolder,
    gpuLayers: options.gpuLayers,
  };
  const load = { modelPath, contextLength, slots, threads, numerics, kvType, ...limit };
  const { startProcess } = options;
  return new EngineChild({ load, limits, log, startProcess });
}

/** A file that cannot be read is the engine's to complain about. */
function limitsOf({ modelPath, watchdogSeconds }: EmbeddedEngineOptions): WatchdogLimits {
  return watchdogLimits(watchdogSeconds, modelBytes(modelPath));
}

function modelBytes(modelPath: string): number {
  try {
    return readGgufHeader(modelPath).neededBytes;
  } catch {
    return 0;
  }
}

function describe(
  options: EmbeddedEngineOptions,
  model: LoadedModel,
  modelHash: string,
): EngineDescription {
  const vocabulary = new TableVocabulary(model.vocabulary);
  const { contextLength, slots, libraryVersion } = model;
  const { artifact, numerics, kvType, gpuLayers = 0 } = options;
  const fingerprint = fingerprintOf({ modelHash, libraryVersion, numerics, kvType, gpuLayers });
  return { artifact, fingerprint, contextLength, slots, vocabulary };
}
