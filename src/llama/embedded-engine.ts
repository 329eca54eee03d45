/**
 * The embedded engine as the server sees it: an engine process that is started again when it dies.
 * Requests that come while it starts wait for it; after repeated failures they are refused.
 */
import { ApiError } from "../contract/errors.ts";
import type {
  Engine,
  EngineDescription,
  EngineEvent,
  Job,
  TokenizeOptions,
} from "../engine/engine.ts";
import { TableVocabulary } from "../engine/vocabulary-table.ts";
import { addCounts, type EngineStats, restingStats, zeroCounts } from "../observe/engine-stats.ts";
import { EngineChild, type EngineLog } from "./engine-child.ts";
import { fingerprintOf, hashModelFiles } from "./fingerprint.ts";
import { readGgufHeader } from "./gguf-header.ts";
import type { LoadedModel, LoadOptions } from "./messages.ts";

export interface EmbeddedEngineOptions extends Omit<LoadOptions, "prefixCacheBytesMax"> {
  /** Default 1 GiB. */
  readonly prefixCacheBytesMax?: number;
  /** The artifact's name, for clients. */
  readonly artifact: string;
  readonly log: EngineLog;
}

export interface EngineState {
  readonly state: "ready" | "starting" | "failed";
  /** How often the process was started again. */
  readonly restarts: number;
  readonly pid: number | undefined;
  readonly reason?: string;
}

/** Deaths in a row, each soon after a start, after which the model counts as failed. */
const deathsMax = 5;
/** A process that lived this long was healthy: its death starts the count anew. */
const healthyMs = 60_000;
const defaultPrefixCacheBytesMax = 1024 ** 3;
/**
 * How often one request is given to an engine process that then dies without a word about it. Not
 * more: it may be the request that kills it.
 */
const attemptsMax = 2;
const backoffMsMin = 500;
const backoffMsMax = 30_000;

/**
 * Rejects with an Error of one clear sentence. A signal ends a start that is under way, the process
 * included, however deep in the library it is.
 */
export async function startEmbeddedEngine(
  options: EmbeddedEngineOptions,
  signal?: AbortSignal,
): Promise<EmbeddedEngine> {
  signal?.throwIfAborted();
  const child = startChild(options);
  const stop = () => child.stop();
  signal?.addEventListener("abort", stop, { once: true });
  try {
    const [model, modelHash] = await Promise.all([child.loaded(), hashModel(options.modelPath)]);
    return new EmbeddedEngine(options, child, describe(options, model, modelHash));
  } catch (error) {
    child.stop();
    throw error;
  } finally {
    signal?.removeEventListener("abort", stop);
  }
}

async function hashModel(path: string): Promise<string> {
  return hashModelFiles(readGgufHeader(path).paths);
}

export class EmbeddedEngine implements Engine {
  readonly #options: EmbeddedEngineOptions;
  readonly #description: EngineDescription;
  #child: EngineChild;
  #ready: Promise<EngineChild>;
  #state: EngineState["state"] = "ready";
  #reason: string | undefined;
  #restarts = 0;
  #deaths = 0;
  #startedMs = Date.now();
  #closed = false;
  /** Of the processes that have ended. */
  #endedCounts = zeroCounts;

  constructor(options: EmbeddedEngineOptions, child: EngineChild, description: EngineDescription) {
    this.#options = options;
    this.#child = child;
    this.#ready = Promise.resolve(child);
    this.#description = description;
    this.#watch(child);
  }

  describe(): EngineDescription {
    return this.#description;
  }

  state(): EngineState {
    const state = { state: this.#state, restarts: this.#restarts, pid: this.#child.pid };
    return this.#reason === undefined ? state : { ...state, reason: this.#reason };
  }

  /** As last reported: up to a quarter of a second old while the engine works. */
  stats(): EngineStats {
    const { slots, contextLength } = this.#description;
    const stats = this.#state === "ready" ? this.#child.stats : undefined;
    if (stats === undefined) {
      return restingStats({ slots, capacityTokens: slots * contextLength }, this.#endedCounts);
    }
    return { ...stats, counts: addCounts(this.#endedCounts, stats.counts) };
  }

  async tokenize(text: string, options: TokenizeOptions): Promise<readonly number[]> {
    for (let attempt = 1; ; attempt++) {
      const child = await this.#ready;
      try {
        return await child.tokenize(text, options);
      } catch (error) {
        await this.#untilReplaced(child, attempt, error);
      }
    }
  }

  /** A job of which nothing was told yet is run again when its process dies. */
  async *run(job: Job, signal: AbortSignal): AsyncGenerator<EngineEvent> {
    for (let attempt = 1; ; attempt++) {
      const child = await this.#ready;
      let begun = false;
      try {
        for await (const event of child.run(job, signal)) {
          begun = true;
          yield event;
        }
        return;
      } catch (error) {
        if (begun || signal.aborted) throw error;
        await this.#untilReplaced(child, attempt, error);
      }
    }
  }

  /** Throws the error again unless it is the death of that process, and not one of many. */
  async #untilReplaced(child: EngineChild, attempt: number, error: unknown): Promise<void> {
    if (child.alive || attempt >= attemptsMax) throw error;
    await child.ended; // by then `#ready` is the next one
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#child.stop();
    await this.#child.ended;
  }

  #watch(child: EngineChild): void {
    void child.ended.then((how) => {
      if (this.#closed) return;
      this.#options.log.error({ reason: how }, "the engine process died");
      const { counts = zeroCounts } = child.stats ?? {};
      this.#endedCounts = addCounts(this.#endedCounts, counts);
      this.#deaths = Date.now() - this.#startedMs > healthyMs ? 1 : this.#deaths + 1;
      this.#state = "starting";
      this.#ready = this.#restart(how);
      this.#ready.catch(() => {});
    });
  }

  async #restart(how: string): Promise<EngineChild> {
    let reason = how;
    while (this.#deaths <= deathsMax) {
      if (this.#deaths > 1) await delay(backoffMs(this.#deaths));
      if (this.#closed) throw new ApiError("shuttingDown");
      this.#restarts += 1;
      this.#startedMs = Date.now();
      const child = startChild(this.#options);
      this.#child = child;
      try {
        await child.loaded();
        this.#state = "ready";
        this.#watch(child);
        this.#options.log.info({ restarts: this.#restarts }, "the engine process runs again");
        return child;
      } catch (error) {
        reason = error instanceof Error ? error.message : String(error);
        this.#options.log.error({ reason }, "the engine process could not be started");
        this.#deaths += 1;
      }
    }
    this.#state = "failed";
    this.#reason = reason;
    throw new ApiError("modelFailed", { reason }, { retry: { shouldRetry: false } });
  }
}

function startChild(options: EmbeddedEngineOptions): EngineChild {
  const { modelPath, contextLength, slots, threads, numerics, kvType, log } = options;
  const prefixCacheBytesMax = options.prefixCacheBytesMax ?? defaultPrefixCacheBytesMax;
  const load = { modelPath, contextLength, slots, threads, numerics, kvType, prefixCacheBytesMax };
  return new EngineChild(load, log);
}

function describe(
  options: EmbeddedEngineOptions,
  model: LoadedModel,
  modelHash: string,
): EngineDescription {
  const vocabulary = new TableVocabulary(model.vocabulary);
  const { contextLength, slots, libraryVersion } = model;
  const { artifact, numerics, kvType } = options;
  const fingerprint = fingerprintOf({ modelHash, libraryVersion, numerics, kvType });
  return { artifact, fingerprint, contextLength, slots, vocabulary };
}

function backoffMs(deaths: number): number {
  return Math.min(backoffMsMax, backoffMsMin * 2 ** (deaths - 2));
}

function delay(timeoutMs: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, timeoutMs).unref();
  });
}
