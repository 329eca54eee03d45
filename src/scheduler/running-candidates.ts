/** The candidates that are being generated: one row each and step, in as few calls as fit. */
import type { Candidate } from "../engine/candidate.ts";
import type { EngineEvent } from "../engine/engine.ts";
import type { Row } from "./backend.ts";
import { padding } from "./padding.ts";
import type { SequenceCache } from "./sequence-cache.ts";
import type { Slot } from "./slot.ts";
import type { Task } from "./task.ts";
import type { Partition } from "./width-planner.ts";

export interface RunningCandidate {
  readonly task: Task;
  readonly candidate: Candidate;
  readonly slot: Slot;
  /** Drawn, and to be evaluated in the next step. */
  nextToken: number;
}

export interface RunningCandidatesOptions {
  readonly cache: SequenceCache;
  /** In how many calls a step is done. */
  readonly partition: Partition;
  /** Tokens one sequence holds. */
  readonly contextLength: number;
  readonly padRows: boolean;
  readonly emit: (task: Task, event: EngineEvent) => void;
  readonly onEnded: (running: RunningCandidate) => void;
  /** The model gave no number for its next token. */
  readonly onBroken: (running: RunningCandidate) => void;
}

/** Logits that are looked at to tell a model that computes no numbers: then none of them is one. */
const probedLogits = 16;

export class RunningCandidates {
  readonly #options: RunningCandidatesOptions;
  readonly #bySlot = new Map<Slot, RunningCandidate>();

  constructor(options: RunningCandidatesOptions) {
    this.#options = options;
  }

  get count(): number {
    return this.#bySlot.size;
  }

  uses(slot: Slot): boolean {
    return this.#bySlot.has(slot);
  }

  all(): RunningCandidate[] {
    return [...this.#bySlot.values()];
  }

  remove(running: RunningCandidate): void {
    this.#bySlot.delete(running.slot);
  }

  /** Lets a candidate draw its first token from the logits after its prompt. */
  start(running: RunningCandidate, logits: Float32Array): void {
    this.#bySlot.set(running.slot, running);
    running.candidate.start((event) => this.#options.emit(running.task, event));
    this.#accept(running, logits);
  }

  /** Evaluates each candidate's next token and lets it draw the one after. */
  advance(): void {
    // By slot, so that rows of neighbouring sequences stand together in a call.
    const running = this.all().sort((left, right) => left.slot.id - right.slot.id);
    for (const width of this.#options.partition(running.length)) {
      this.#advanceBatch(running.splice(0, width));
    }
  }

  #advanceBatch(batch: readonly RunningCandidate[]): void {
    const { cache, padRows } = this.#options;
    const rows: Row[] = [];
    for (const { slot, nextToken: token } of batch) {
      const row = { token, position: slot.length, sequence: slot.id, logits: true };
      rows.push(row);
      if (padRows) rows.push(padding(row));
    }
    cache.decode(rows);
    const rowsEach = padRows ? 2 : 1;
    // Cut first: a candidate that ends gives its slot away, and cutting leaves the logits alone.
    if (padRows) for (const { slot } of batch) cache.cut(slot, slot.length - 1);
    for (const [index, running] of batch.entries()) {
      // One that failed takes the others of its job along.
      if (this.#bySlot.get(running.slot) !== running) continue;
      this.#accept(running, cache.logits(index * rowsEach));
    }
  }

  #accept(running: RunningCandidate, logits: Float32Array): void {
    const { emit, contextLength, onEnded, onBroken } = this.#options;
    if (logits.subarray(0, probedLogits).every(Number.isNaN) && logits.every(Number.isNaN)) {
      onBroken(running);
      return;
    }
    const emitOwn = (event: EngineEvent) => emit(running.task, event);
    const next = running.candidate.accept(logits, emitOwn);
    if (next !== undefined && running.slot.length < contextLength) {
      running.nextToken = next;
      return;
    }
    if (next !== undefined) running.candidate.contextExhausted(emitOwn);
    onEnded(running);
  }
}
