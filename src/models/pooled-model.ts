/**
 * One model of the pool: its engine while it is loaded, who uses it, and what it counted before.
 * When it is loaded and unloaded is the pool's matter (model-pool.ts).
 */
import { sep } from "node:path";
import type { Insertion } from "../completion/insertion.ts";
import { ApiError } from "../contract/errors.ts";
import type { Engine } from "../engine/engine.ts";
import {
  addCounts,
  type EngineCounts,
  type EngineStats,
  restingStats,
  zeroCounts,
} from "../observe/engine-stats.ts";
import type { ServedModel } from "./catalog.ts";
import type { ModelLease } from "./model-lease.ts";

export interface PoolEngineState {
  readonly state: "ready" | "starting" | "failed";
  /** How often its process was started again. */
  readonly restarts: number;
  /** Why it had to be, by kind. */
  readonly faults: Readonly<Record<string, number>>;
  readonly reason?: string;
  readonly lastFault?: string;
}

/** An engine as the pool needs it; the embedded engine is one. */
export interface PoolEngine extends Engine {
  state(): PoolEngineState;
  stats(): EngineStats;
}

export interface PooledModelOptions {
  readonly id: string;
  /** Unix seconds. */
  readonly created: number;
  readonly insertion: Insertion;
  /** Tokens of one sequence and sequences at once, as far as file and settings tell. */
  readonly expected: { readonly contextLength: number; readonly slots: number };
  /** Folders that clients need not know: their names are cut from what they are told. */
  readonly hiddenFolders?: readonly string[];
  /** What it will take once loaded, by estimate. Asked anew before each load. */
  readonly estimateBytes: () => number;
  /** Brings it into memory. Rejects with an Error of one clear sentence. */
  readonly load: (signal: AbortSignal) => Promise<PoolEngine>;
}

export type ModelState = "unloaded" | "loading" | "loaded" | "unloading" | "failed";

/** How a model stands, and what happened to its engines since the program started. */
export interface ModelStatus {
  readonly state: ModelState;
  readonly restarts: number;
  readonly faults: Readonly<Record<string, number>>;
  /** Why it failed. */
  readonly reason?: string;
  /** Why an engine's process last had to be replaced. */
  readonly lastFault?: string;
}

/** Of one model, since the program started. */
export interface LoadCounts {
  readonly loads: number;
  readonly failures: number;
  readonly unloads: number;
  /** Time that loads took, those that failed included. */
  readonly loadSeconds: number;
}

/** Pauses before a model that could not be loaded is tried again. */
export const retryMs = { min: 2_000, max: 60_000 } as const;

export class PooledModel implements ServedModel {
  readonly id: string;
  readonly created: number;
  readonly insertion: Insertion;
  readonly #options: PooledModelOptions;
  readonly #acquire: (model: PooledModel, signal: AbortSignal) => Promise<ModelLease>;
  #state: ModelState = "unloaded";
  #engine: PoolEngine | undefined;
  #expected: PooledModelOptions["expected"];
  /** Memory of its engine's process when that was last known. */
  #measuredBytes = 0;
  #endedCounts: EngineCounts = zeroCounts;
  #ended: Pick<ModelStatus, "restarts" | "faults" | "lastFault"> = { restarts: 0, faults: {} };
  #counts: LoadCounts = { loads: 0, failures: 0, unloads: 0, loadSeconds: 0 };
  #failuresInRow = 0;
  #failure:
    | { readonly reason: string; readonly cause: unknown; readonly retryAtMs: number }
    | undefined;
  #loadedMs = 0;
  leases = 0;
  /** Rises with every use of any model: the lowest was not used for longest. */
  lastUse = 0;

  constructor(
    options: PooledModelOptions,
    acquire: (model: PooledModel, signal: AbortSignal) => Promise<ModelLease>,
  ) {
    this.id = options.id;
    this.created = options.created;
    this.insertion = options.insertion;
    this.#options = options;
    this.#expected = options.expected;
    this.#acquire = acquire;
  }

  acquire(signal: AbortSignal): Promise<ModelLease> {
    return this.#acquire(this, signal);
  }

  get contextLength(): number {
    return this.#engine?.describe().contextLength ?? this.#expected.contextLength;
  }

  get state(): ModelState {
    return this.#state;
  }

  get engine(): PoolEngine | undefined {
    return this.#engine;
  }

  get counts(): LoadCounts {
    return this.#counts;
  }

  /** When it was last loaded. */
  get loadedMs(): number {
    return this.#loadedMs;
  }

  /** Whether it takes memory. */
  get held(): boolean {
    return this.#state !== "unloaded" && this.#state !== "failed";
  }

  get idle(): boolean {
    return this.#state === "loaded" && this.leases === 0;
  }

  /** Bytes that it takes, or that it will take when it is loaded again. */
  get bytes(): number {
    const { residentBytes = 0 } = this.#engine?.stats() ?? {};
    if (residentBytes > 0) this.#measuredBytes = residentBytes;
    return Math.max(this.#options.estimateBytes(), this.#measuredBytes);
  }

  get estimatedBytes(): number {
    return this.#options.estimateBytes();
  }

  /** Why it cannot be used now: it failed, and the pause before the next try is not over. */
  failure(nowMs: number): ApiError | undefined {
    if (this.#failure === undefined || nowMs >= this.#failure.retryAtMs) return undefined;
    return modelFailed(this.#failure.reason, this.#failure.cause);
  }

  /** Rejects with an ApiError. */
  async load(signal: AbortSignal, nowMs: () => number): Promise<void> {
    const startedMs = nowMs();
    this.#state = "loading";
    try {
      // Not before the next turn: a load never fails while the pool is still at work on its line.
      const engine = await Promise.resolve().then(() => this.#options.load(signal));
      const { contextLength, slots } = engine.describe();
      this.#expected = { contextLength, slots };
      this.#engine = engine;
      this.#state = "loaded";
      this.#loadedMs = nowMs();
      this.#failure = undefined;
      this.#failuresInRow = 0;
      this.#counts = { ...this.#counts, loads: this.#counts.loads + 1 };
    } catch (error) {
      throw this.#fail(error, nowMs());
    } finally {
      const seconds = (nowMs() - startedMs) / 1000;
      this.#counts = { ...this.#counts, loadSeconds: this.#counts.loadSeconds + seconds };
    }
  }

  #fail(error: unknown, nowMs: number): ApiError {
    const reason = this.#hide(error instanceof Error ? error.message : String(error));
    const pauseMs = Math.min(retryMs.max, retryMs.min * 2 ** this.#failuresInRow);
    this.#failure = {
      reason: reason.trim().replace(/\.$/, ""),
      cause: error,
      retryAtMs: nowMs + pauseMs,
    };
    this.#failuresInRow += 1;
    this.#counts = { ...this.#counts, failures: this.#counts.failures + 1 };
    this.#state = "failed";
    return modelFailed(this.#failure.reason, error);
  }

  /** Ends the engine; what it counted stays. */
  async unload(): Promise<void> {
    const engine = this.#engine;
    if (engine === undefined) return;
    this.#state = "unloading";
    this.#measuredBytes = Math.max(this.#measuredBytes, engine.stats().residentBytes);
    // It has nothing to do any more, so this is its last report; nobody asks it after its end.
    this.#endedCounts = addCounts(this.#endedCounts, engine.stats().counts);
    this.#ended = this.#faultsWith(engine.state());
    this.#engine = undefined;
    await engine.close().catch(() => undefined);
    this.#state = "unloaded";
    this.#counts = { ...this.#counts, unloads: this.#counts.unloads + 1 };
  }

  /** How it stands to those outside: an engine that is started again is loading. */
  status(): ModelStatus {
    const engine = this.#engine?.state();
    const past = engine === undefined ? this.#ended : this.#faultsWith(engine);
    if (this.#state === "failed") {
      return { state: "failed", ...past, ...reasonOf(this.#failure?.reason) };
    }
    if (this.#state !== "loaded" || engine === undefined || engine.state === "ready") {
      return { state: this.#state, ...past };
    }
    if (engine.state === "starting") return { state: "loading", ...past };
    const { reason } = engine;
    return { state: "failed", ...past, ...reasonOf(reason && this.#hide(reason)) };
  }

  #faultsWith(engine: PoolEngineState) {
    const faults = { ...this.#ended.faults };
    for (const [kind, count] of Object.entries(engine.faults)) {
      faults[kind] = (faults[kind] ?? 0) + count;
    }
    const restarts = this.#ended.restarts + engine.restarts;
    const { lastFault = this.#ended.lastFault } = engine;
    return { restarts, faults, ...(lastFault === undefined ? {} : { lastFault }) };
  }

  #hide(reason: string): string {
    const folders = this.#options.hiddenFolders ?? [];
    return folders.reduce((text, folder) => text.replaceAll(`${folder}${sep}`, ""), reason);
  }

  /** Counts go on over all engines that the model had; without one nothing is in use. */
  stats(): EngineStats {
    const { contextLength, slots } = this.#expected;
    const size = { slots, capacityTokens: slots * contextLength };
    if (this.#engine === undefined) return restingStats(size, this.#endedCounts);
    const stats = this.#engine.stats();
    return { ...stats, counts: addCounts(this.#endedCounts, stats.counts) };
  }
}

const reasonOf = (reason: string | undefined) => (reason === undefined ? {} : { reason });

/** Trying again at once would meet the same file. */
export function modelFailed(reason: string, cause?: unknown): ApiError {
  return new ApiError("modelFailed", { reason }, { cause, retry: { shouldRetry: false } });
}
