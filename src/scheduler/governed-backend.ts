/** A backend whose calls use as many threads as a governor says. */
import type { Backend, Row } from "./backend.ts";
import type { ThreadGovernor } from "./thread-governor.ts";
import type { Work } from "./work-class.ts";

/** Its threads can be set between calls. */
export interface ThreadedBackend extends Backend {
  /** Takes effect with the next call. */
  setThreads(threads: number): void;
  sequenceLength(sequence: number): number;
}

export interface GovernedBackendOptions {
  readonly backend: ThreadedBackend;
  readonly governor: ThreadGovernor;
  /** Milliseconds, monotonic. */
  readonly nowMs: () => number;
  /** Cores that others have left free of late; undefined where nobody knows. */
  readonly freeCores: () => number | undefined;
}

export class GovernedBackend implements Backend {
  readonly sequences: number;
  readonly contextLength: number;
  readonly vocabularySize: number;
  readonly rowsMax: number;
  readonly #options: GovernedBackendOptions;
  #threads: number | undefined;

  constructor(options: GovernedBackendOptions) {
    const { backend } = options;
    this.#options = options;
    this.sequences = backend.sequences;
    this.contextLength = backend.contextLength;
    this.vocabularySize = backend.vocabularySize;
    this.rowsMax = backend.rowsMax;
  }

  decode(rows: readonly Row[]): void {
    const { backend, governor, nowMs, freeCores } = this.#options;
    const work = workOf(rows);
    const startMs = nowMs();
    const threads = governor.choose(work, startMs, freeCores());
    if (threads !== this.#threads) backend.setThreads(threads);
    this.#threads = threads;
    backend.decode(rows);
    const endMs = nowMs();
    governor.record(work, threads, endMs - startMs, endMs);
  }

  logits(index: number): Float32Array {
    return this.#options.backend.logits(index);
  }

  copySequence(from: number, to: number): void {
    this.#options.backend.copySequence(from, to);
  }

  trimSequence(sequence: number, length: number): boolean {
    return this.#options.backend.trimSequence(sequence, length);
  }

  sequenceLength(sequence: number): number {
    return this.#options.backend.sequenceLength(sequence);
  }
}

/** Rows of one sequence stand together. */
export function workOf(rows: readonly Row[]): Work {
  let sequences = 0;
  let outputs = 0;
  let position = 0;
  let last: number | undefined;
  for (const row of rows) {
    if (row.sequence !== last) sequences += 1;
    last = row.sequence;
    if (row.logits) outputs += 1;
    position += row.position;
  }
  return { rows: rows.length, sequences, outputs, position: position / Math.max(1, rows.length) };
}
