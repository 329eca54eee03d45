/** The candidates that are being generated: one row each and step, in as few calls as fit. */
import type { Candidate } from "../engine/candidate.ts";
import type { EngineEvent } from "../engine/engine.ts";
import type { Backend, Row } from "./backend.ts";
import { padding } from "./padding.ts";
import type { Task } from "./task.ts";

export interface RunningCandidate {
  readonly task: Task;
  readonly candidate: Candidate;
  readonly slot: number;
  /** Tokens the slot holds; the next token goes to this position. */
  length: number;
  nextToken: number;
}

export class RunningCandidates {
  readonly #backend: Backend;
  readonly #padRows: boolean;
  readonly #emit: (task: Task, event: EngineEvent) => void;
  readonly #onEnded: (running: RunningCandidate) => void;
  /** By slot, so that rows of neighbouring sequences stand together in a call. */
  readonly #bySlot = new Map<number, RunningCandidate>();

  constructor(options: {
    readonly backend: Backend;
    readonly padRows: boolean;
    readonly emit: (task: Task, event: EngineEvent) => void;
    readonly onEnded: (running: RunningCandidate) => void;
  }) {
    this.#backend = options.backend;
    this.#padRows = options.padRows;
    this.#emit = options.emit;
    this.#onEnded = options.onEnded;
  }

  get count(): number {
    return this.#bySlot.size;
  }

  uses(slot: number): boolean {
    return this.#bySlot.has(slot);
  }

  ofTask(id: number): RunningCandidate[] {
    return [...this.#bySlot.values()].filter((running) => running.task.id === id);
  }

  add(running: RunningCandidate): void {
    this.#bySlot.set(running.slot, running);
  }

  remove(running: RunningCandidate): void {
    this.#bySlot.delete(running.slot);
  }

  /** Evaluates each candidate's next token and lets it draw the one after. */
  advance(): void {
    const running = [...this.#bySlot.values()].sort((left, right) => left.slot - right.slot);
    const perCall = Math.max(1, Math.floor(this.#backend.rowsMax / (this.#padRows ? 2 : 1)));
    for (let start = 0; start < running.length; start += perCall) {
      this.#advanceBatch(running.slice(start, start + perCall));
    }
  }

  #advanceBatch(batch: readonly RunningCandidate[]): void {
    const rows: Row[] = [];
    for (const { slot: sequence, length: position, nextToken: token } of batch) {
      const row = { token, position, sequence, logits: true };
      rows.push(row);
      if (this.#padRows) rows.push(padding(row));
    }
    this.#backend.decode(rows);
    const rowsEach = this.#padRows ? 2 : 1;
    for (const [index, running] of batch.entries()) {
      running.length += 1;
      this.#accept(running, index * rowsEach);
    }
    if (!this.#padRows) return;
    for (const running of batch) this.#backend.trimSequence(running.slot, running.length);
  }

  #accept(running: RunningCandidate, row: number): void {
    const emit = (event: EngineEvent) => this.#emit(running.task, event);
    const next = running.candidate.accept(this.#backend.logits(row), emit);
    if (next !== undefined && running.length < this.#backend.contextLength) {
      running.nextToken = next;
      return;
    }
    if (next !== undefined) running.candidate.contextExhausted(emit);
    this.#onEnded(running);
  }
}
