/** A pool over engines in memory: loads and ends wait for the test's word. */
import type { EngineEvent } from "../../engine/engine.ts";
import { testVocabulary } from "../../engine/testing/vocabulary.ts";
import { type EngineStats, restingStats, zeroCounts } from "../../observe/engine-stats.ts";
import { type MemoryLimit, ModelPool, type ModelPoolOptions } from "../model-pool.ts";
import type { PoolEngine, PooledModel } from "../pooled-model.ts";

export class FakePoolEngine implements PoolEngine {
  readonly model: string;
  residentBytes = 0;
  generatedTokens = 0;
  restarts = 0;
  closed = false;
  failed: string | undefined;

  constructor(model: string) {
    this.model = model;
  }

  describe() {
    const vocabulary = testVocabulary();
    return {
      artifact: this.model,
      fingerprint: "fp_fake",
      contextLength: 512,
      slots: 2,
      vocabulary,
    };
  }

  tokenize(): Promise<readonly number[]> {
    return Promise.resolve([]);
  }

  // biome-ignore lint/correctness/useYield: it has nothing to say
  async *run(): AsyncGenerator<EngineEvent> {
    throw new Error("the fake engine runs nothing");
  }

  state() {
    const state = { restarts: this.restarts, faults: {} };
    if (this.failed === undefined) return { ...state, state: "ready" as const };
    return { ...state, state: "failed" as const, reason: this.failed };
  }

  stats(): EngineStats {
    const counts = { ...zeroCounts, generatedTokens: this.generatedTokens };
    const { residentBytes } = this;
    return { ...restingStats({ slots: 2, capacityTokens: 1024 }, counts), residentBytes };
  }

  async close(): Promise<void> {
    this.closed = true;
  }
}

export interface FakePool {
  readonly pool: ModelPool;
  /** What happened to engines, in order: `+a` loaded, `-a` ended, `!a` failed. */
  readonly events: string[];
  /** The engines that were started, the last of each model. */
  readonly engines: ReadonlyMap<string, FakePoolEngine>;
  /** Makes the next loads of the model fail; undefined: no more. */
  fail(id: string, reason: string | undefined): void;
  /** Loads of the model wait until the promise is settled. */
  hold(id: string, until: Promise<void>): void;
  model(id: string): PooledModel;
}

export interface FakePoolOptions extends Partial<ModelPoolOptions> {
  /** Estimates by name. */
  readonly sizes: Readonly<Record<string, number>>;
  readonly bytesMax: number;
  readonly strict?: boolean;
}

export function fakePool({ sizes, bytesMax, strict = true, ...rest }: FakePoolOptions): FakePool {
  const events: string[] = [];
  const engines = new Map<string, FakePoolEngine>();
  const failures = new Map<string, string>();
  const held = new Map<string, Promise<void>>();
  const load = async (id: string, signal: AbortSignal): Promise<PoolEngine> => {
    const aborted = new Promise<never>((_, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason));
    });
    aborted.catch(() => undefined);
    await Promise.race([held.get(id), aborted]);
    const reason = failures.get(id);
    events.push(reason === undefined ? `+${id}` : `!${id}`);
    if (reason !== undefined) throw new Error(reason);
    const engine = new FakePoolEngine(id);
    const close = engine.close.bind(engine);
    engine.close = async () => {
      events.push(`-${id}`);
      await close();
    };
    engines.set(id, engine);
    return engine;
  };
  const memory: MemoryLimit = { bytesMax, strict };
  const pool = new ModelPool({
    memory,
    log: { info: () => undefined, warn: () => undefined },
    models: Object.entries(sizes).map(([id, bytes]) => ({
      id,
      created: 1,
      insertion: { kind: "auto" },
      expected: { contextLength: 4096, slots: 8 },
      estimateBytes: () => bytes,
      load: (signal) => load(id, signal),
    })),
    ...rest,
  });
  return {
    pool,
    events,
    engines,
    fail: (id, reason) => {
      if (reason === undefined) failures.delete(id);
      else failures.set(id, reason);
    },
    hold: (id, until) => held.set(id, until),
    model: (id) => {
      const model = pool.models.find((each) => each.id === id);
      if (model === undefined) throw new Error(`no model ${id}`);
      return model;
    },
  };
}
