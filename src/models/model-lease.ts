/** The right to use a model's engine: while anybody holds one, the model stays in memory. */
import type { Engine } from "../engine/engine.ts";
import type { ServedModel } from "./catalog.ts";

export interface ModelLease {
  readonly engine: Engine;
  /** Called again it does nothing. */
  release(): void;
}

/** Runs the work with the model's engine and gives the lease back, however the work ends. */
export async function useModel<Result>(
  model: Pick<ServedModel, "acquire">,
  signal: AbortSignal,
  work: (engine: Engine) => Promise<Result> | Result,
): Promise<Result> {
  const lease = await model.acquire(signal);
  try {
    return await work(lease.engine);
  } finally {
    lease.release();
  }
}

/** A model whose engine runs as long as the program does: leases cost nothing and end nothing. */
export function alwaysLoaded(
  model: Pick<ServedModel, "id" | "created" | "insertion">,
  engine: Engine,
): ServedModel {
  const { id, created, insertion } = model;
  const lease: ModelLease = { engine, release: () => undefined };
  return {
    id,
    created,
    insertion,
    get contextLength() {
      return engine.describe().contextLength;
    },
    acquire: async (signal) => {
      signal.throwIfAborted();
      return lease;
    },
  };
}
