/** What GET /health and the metrics say of the models of a pool. */
import type { Health } from "../http/server-context.ts";
import type { ModelPool } from "../models/model-pool.ts";
import type { PooledModel } from "../models/pooled-model.ts";
import type { EngineSample } from "../observe/engine-metrics.ts";
import type { ModelSample } from "../observe/model-metrics.ts";

/**
 * `vital` are the models without which the server is not well: those loaded at the start. Others
 * may fail; requests for them are told, and the list shows it.
 */
export function poolHealth(pool: ModelPool, vital: ReadonlySet<string>): Health {
  const all = pool.models.map((model) => ({ model, ...model.status() }));
  const needed = all.filter(({ model }) => vital.has(model.id));
  const failed = needed.find(({ state }) => state === "failed");
  // Its engine is started again. A model that is loaded for a request only makes that one wait.
  const restarting = needed.some(({ model, state }) => state === "loading" && isLoaded(model));
  const lastFault = [...needed, ...all].find((each) => each.lastFault !== undefined)?.lastFault;
  const sum = (count: (model: PooledModel) => number) =>
    pool.models.reduce((total, model) => total + count(model), 0);
  return {
    status: failed !== undefined ? "failed" : restarting ? "loading" : "ok",
    restarts: all.reduce((total, { restarts }) => total + restarts, 0),
    hangs: all.reduce((total, { faults }) => total + (faults.hang ?? 0), 0),
    queued: sum((model) => model.stats().queuedJobs + pool.waitingFor(model)),
    running: sum((model) => model.stats().runningCandidates),
    ...(failed?.reason === undefined ? {} : { reason: failed.reason }),
    ...(lastFault === undefined ? {} : { last_fault: lastFault }),
    models: all.map(({ model, state, restarts, reason }) => ({
      name: model.id,
      state,
      restarts,
      ...(reason === undefined ? {} : { reason }),
    })),
  };
}

const isLoaded = (model: PooledModel): boolean => model.state === "loaded";

export function engineSample(model: PooledModel): EngineSample {
  const { state, restarts, faults } = model.status();
  return { stats: model.stats(), up: state === "loaded", restarts, faults };
}

export function modelSample(pool: ModelPool, model: PooledModel): ModelSample {
  return { ...model.counts, loaded: isLoaded(model), waiting: pool.waitingFor(model) };
}
