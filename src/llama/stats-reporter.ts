/**
 * Tells the server how the engine's work stands: while it works at most every `reportMs`, and once
 * when there is nothing left to do. There is no timer: an idle engine sends nothing.
 */
import type { EngineStats } from "../observe/engine-stats.ts";

/** Time between two reports of a working engine. */
export const reportMs = 250;

export interface StatsReporterOptions {
  readonly read: () => EngineStats;
  readonly send: (stats: EngineStats) => void;
  /** Milliseconds, monotonic. */
  readonly nowMs: () => number;
}

export class StatsReporter {
  readonly #options: StatsReporterOptions;
  #sentMs = Number.NEGATIVE_INFINITY;

  constructor(options: StatsReporterOptions) {
    this.#options = options;
  }

  /** Called after every step; `idle` when it was the last one for now. */
  stepped(idle: boolean): void {
    const now = this.#options.nowMs();
    if (!idle && now - this.#sentMs < reportMs) return;
    this.#sentMs = now;
    this.#options.send(this.#options.read());
  }
}
