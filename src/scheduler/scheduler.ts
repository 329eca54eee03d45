/**
 * Continuous batching over a backend. One step: admit what has room, read a chunk of one prompt,
 * launch candidates, advance every running one by a token. Prompt rows and candidate rows never
 * share a call: the library would split them so that a prompt row runs alone.
 */
import { ApiError } from "../contract/errors.ts";
import { Candidate } from "../engine/candidate.ts";
import type { EngineEvent, Job, Vocabulary } from "../engine/engine.ts";
import type { Backend } from "./backend.ts";
import { PromptReader } from "./prompt-reader.ts";
import { RowBudget } from "./prompt-rows.ts";
import { type RunningCandidate, RunningCandidates } from "./running-candidates.ts";
import { SlotPool } from "./slot-pool.ts";
import { isReading, needsPrompt, newTask, type Task, waitingCandidates } from "./task.ts";

/** Jobs waiting for a slot. One request may bring 2,048 prompts. */
export const queuedJobsMax = 8192;

export interface SchedulerOptions {
  readonly backend: Backend;
  readonly vocabulary: Vocabulary;
  /** See padding.ts. */
  readonly padRows: boolean;
  readonly onEvent: (id: number, event: EngineEvent) => void;
  /** Follows the last event of a job. */
  readonly onEnded: (id: number) => void;
  /** Milliseconds, monotonic. */
  readonly nowMs: () => number;
}

export class Scheduler {
  readonly #backend: Backend;
  readonly #options: SchedulerOptions;
  readonly #slots: SlotPool;
  readonly #reader: PromptReader;
  readonly #running: RunningCandidates;
  readonly #queue: Task[] = [];
  /** Admitted tasks that still read their prompt or have candidates to launch, in turn. */
  #tasks: Task[] = [];

  constructor(options: SchedulerOptions) {
    const { backend, padRows, nowMs } = options;
    this.#options = options;
    this.#backend = backend;
    this.#slots = new SlotPool(backend.sequences);
    const budget = new RowBudget(backend.rowsMax);
    this.#reader = new PromptReader({ backend, budget, padRows, nowMs });
    this.#running = new RunningCandidates({
      backend,
      padRows,
      emit: (task, event) => this.#emit(task, event),
      onEnded: (running) => this.#endRunning(running),
    });
  }

  get idle(): boolean {
    return this.#queue.length === 0 && this.#tasks.length === 0 && this.#running.count === 0;
  }

  /** Slots in use, for metrics and for invariants in tests. */
  get slotsTaken(): number {
    return this.#slots.size - this.#slots.freeCount;
  }

  /** Throws an ApiError when the queue is full. */
  submit(id: number, job: Job): void {
    if (this.#queue.length >= queuedJobsMax) throw new ApiError("overloaded");
    if (job.prompt.length === 0 || job.prompt.length > this.#backend.contextLength) {
      throw new RangeError(`a prompt of ${job.prompt.length} tokens does not fit the context`);
    }
    this.#queue.push(newTask(id, job));
  }

  /** Forgets a job and frees its slots. No further event of it is sent. */
  abort(id: number): void {
    const queued = this.#queue.findIndex((task) => task.id === id);
    if (queued >= 0) this.#queue.splice(queued, 1);
    for (const running of this.#running.ofTask(id)) this.#stopRunning(running);
    for (const task of this.#tasks) if (task.id === id) this.#releasePrompt(task);
    this.#tasks = this.#tasks.filter((task) => task.id !== id);
  }

  /** One round. Throws what the backend throws: its sequences are then of no more use. */
  step(): void {
    this.#admit();
    this.#readPrompt();
    this.#launchCandidates();
    this.#running.advance();
  }

  #admit(): void {
    for (let task = this.#queue[0]; task !== undefined; task = this.#queue[0]) {
      if (needsPrompt(task.job)) {
        task.promptSlot = this.#slots.take();
        if (task.promptSlot === undefined) return;
        this.#cut(task.promptSlot, 0);
      }
      this.#queue.shift();
      this.#emit(task, { kind: "admitted" });
      if (task.promptSlot === undefined) this.#finishUnread(task);
      else this.#tasks.push(task);
    }
  }

  // Prompts are read in turn, a chunk each, so that a long one does not stall a short one.
  #readPrompt(): void {
    const index = this.#tasks.findIndex(isReading);
    const task = this.#tasks[index];
    if (task === undefined) return;
    this.#reader.readChunk(task);
    this.#tasks.splice(index, 1);
    this.#tasks.push(task);
    if (isReading(task)) return;
    if (task.job.maxTokens === 0) this.#finishUnread(task);
    else this.#emit(task, { kind: "prompt", cachedTokens: 0, scores: task.scores });
  }

  /** A job that generates nothing: its candidates end where they start. */
  #finishUnread(task: Task): void {
    this.#emit(task, { kind: "prompt", cachedTokens: 0, scores: task.scores });
    this.#releasePrompt(task);
    this.#tasks = this.#tasks.filter((other) => other !== task);
    while (waitingCandidates(task) > 0) {
      this.#newCandidate(task).start((event) => this.#emit(task, event));
      this.#candidateEnded(task);
    }
  }

  #launchCandidates(): void {
    for (const task of this.#tasks.filter((task) => !isReading(task))) {
      while (waitingCandidates(task) > 0 && this.#launch(task)) {}
    }
    this.#tasks = this.#tasks.filter((task) => waitingCandidates(task) > 0);
  }

  /** Starts the task's next candidate; false when it has to wait for a slot. */
  #launch(task: Task): boolean {
    const slot = this.#slotForCandidate(task);
    if (slot === undefined) return false;
    const emit = (event: EngineEvent) => this.#emit(task, event);
    const candidate = this.#newCandidate(task);
    const length = task.job.prompt.length;
    const running: RunningCandidate = { task, candidate, slot, length, nextToken: 0 };
    this.#running.add(running);
    candidate.start(emit);
    const next = candidate.accept(task.lastRow as Float32Array, emit);
    if (waitingCandidates(task) === 0) task.lastRow = undefined;
    if (next === undefined) this.#endRunning(running);
    else if (length < this.#backend.contextLength) running.nextToken = next;
    else {
      candidate.contextExhausted(emit);
      this.#endRunning(running);
    }
    return true;
  }

  /**
   * One candidate at a time runs in the prompt's own slot, the others in copies of it cut back to
   * the prompt. Queued jobs take free slots before further candidates of a running job do.
   */
  #slotForCandidate(task: Task): number | undefined {
    const own = task.promptSlot as number;
    const length = task.job.prompt.length;
    if (!this.#running.uses(own)) {
      if (task.launched > 0) this.#cut(own, length);
      return own;
    }
    const slot = this.#queue.length > 0 ? undefined : this.#slots.take();
    if (slot === undefined) return undefined;
    this.#backend.copySequence(own, slot);
    this.#cut(slot, length);
    return slot;
  }

  #endRunning(running: RunningCandidate): void {
    this.#stopRunning(running);
    this.#candidateEnded(running.task);
  }

  #stopRunning(running: RunningCandidate): void {
    const { task, slot } = running;
    this.#running.remove(running);
    if (slot !== task.promptSlot) this.#slots.giveBack(slot);
    else if (waitingCandidates(task) === 0) this.#releasePrompt(task);
  }

  #candidateEnded(task: Task): void {
    task.finished += 1;
    if (task.finished === task.job.candidates) this.#options.onEnded(task.id);
  }

  #releasePrompt(task: Task): void {
    if (task.promptSlot === undefined) return;
    this.#slots.giveBack(task.promptSlot);
    task.promptSlot = undefined;
  }

  #newCandidate(task: Task): Candidate {
    const index = task.launched;
    task.launched += 1;
    return new Candidate({ job: task.job, index, vocabulary: this.#options.vocabulary });
  }

  #cut(slot: number, length: number): void {
    if (this.#backend.trimSequence(slot, length)) return;
    throw new Error(`sequence ${slot} could not be cut back to ${length} tokens`);
  }

  #emit(task: Task, event: EngineEvent): void {
    this.#options.onEvent(task.id, event);
  }
}
