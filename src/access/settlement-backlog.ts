/** Settlements that the database did not take: kept until it does. */
import type { SettleInput } from "./operations/settle.ts";
import { type Store, StoreError } from "./store.ts";

/**
 * Settlements kept. Nothing new is let in while nothing can be written, so there are no more than
 * requests that ran at once; beyond this the row stays open and ends as lost.
 */
export const backlogMax = 100_000;

interface Kept {
  readonly input: SettleInput;
  readonly sinceMs: number;
}

export class SettlementBacklog {
  readonly #store: Store;
  readonly #kept = new Map<string, Kept>();

  constructor(store: Store) {
    this.#store = store;
  }

  get size(): number {
    return this.#kept.size;
  }

  /** Age of the oldest; 0 without any. */
  get lagMs(): number {
    const [oldest] = this.#kept.values();
    return oldest === undefined ? 0 : performance.now() - oldest.sinceMs;
  }

  /** False when there is no room. */
  keep(input: SettleInput): boolean {
    if (this.#kept.size >= backlogMax) return false;
    this.#kept.set(input.completionId, { input, sinceMs: performance.now() });
    return true;
  }

  /** Tries one, and when that goes through all. Rejects with why the database does not take them. */
  async retry(): Promise<void> {
    const [first, ...others] = this.#kept.values();
    if (first === undefined) {
      if (!this.#store.state().writable) await this.#store.run("probeWrite", undefined);
      return;
    }
    await this.#settle(first);
    await Promise.all(others.map((kept) => this.#settle(kept)));
  }

  async #settle({ input }: Kept): Promise<void> {
    try {
      await this.#store.run("settle", input);
    } catch (error) {
      // What the database will never take must not keep the others waiting.
      if (!(error instanceof StoreError) || error.problem !== "invalid") throw error;
    }
    this.#kept.delete(input.completionId);
  }
}
