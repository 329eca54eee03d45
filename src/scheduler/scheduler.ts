/**
 * Continuous batching over a backend. One step: give free slots to whose turn it is, read a chunk
 * of one prompt, launch candidates, advance every running one by a token. Prompt rows and candidate
 * rows never share a call: the library would split them so that a prompt row runs alone.
 */
import { ApiError } from "../contract/errors.ts";
import type { EngineEvent, Job, Vocabulary } from "../engine/engine.ts";
import { Admission } from "./admission.ts";
import type { Backend } from "./backend.ts";
import { CandidateLauncher } from "./candidate-launcher.ts";
import { FairTurns } from "./fair-turns.ts";
import type { MatchRules } from "./prefix-match.ts";
import { PromptReader } from "./prompt-reader.ts";
import { lonePromptMsMax, RowBudget, stepPromptMsMax } from "./prompt-rows.ts";
import { type RunningCandidate, RunningCandidates } from "./running-candidates.ts";
import { SequenceCache } from "./sequence-cache.ts";
import {
  isEnded,
  isReading,
  needsPrompt,
  newTask,
  promptScores,
  type Task,
  waitingCandidates,
} from "./task.ts";
import { Throughput } from "./throughput.ts";
import { type Partition, WidthPlanner } from "./width-planner.ts";

/** Jobs waiting for a slot, where options say no other number. One request may bring 2,048 prompts. */
export const queuedJobsMax = 8192;

export interface SchedulerOptions {
  readonly backend: Backend;
  readonly vocabulary: Vocabulary;
  /** See padding.ts. */
  readonly padRows: boolean;
  readonly rules: MatchRules;
  readonly reuseGenerated: boolean;
  readonly bytesPerToken: number;
  readonly idleBytesMax: number;
  readonly onEvent: (id: number, event: EngineEvent) => void;
  /** Follows the last event of a job. */
  readonly onEnded: (id: number) => void;
  /** Ends a job instead of `onEnded`. */
  readonly onFailed: (id: number, reason: string) => void;
  /** Milliseconds, monotonic. */
  readonly nowMs: () => number;
  /** Widths of the calls that step so many sequences; by default all are stepped together. */
  readonly partition?: Partition;
  /** Jobs that may wait for a slot; a further one is refused. */
  readonly queuedJobsMax?: number | undefined;
}

/** Sequences one call can step. */
export function widthMaxOf({ rowsMax, sequences }: Backend, padRows: boolean): number {
  return Math.max(1, Math.min(sequences, Math.floor(rowsMax / (padRows ? 2 : 1))));
}

function unmeasured(widthMax: number): Partition {
  const planner = new WidthPlanner(widthMax);
  return (count) => planner.partition(count);
}

/** Counts since the start. */
export interface SchedulerCounts {
  /** Prompt tokens that were computed, and those that an earlier prompt spared. */
  readTokens: number;
  cachedTokens: number;
  generatedTokens: number;
}

export class Scheduler {
  readonly counts: SchedulerCounts = { readTokens: 0, cachedTokens: 0, generatedTokens: 0 };
  readonly #options: SchedulerOptions;
  readonly #cache: SequenceCache;
  readonly #reader: PromptReader;
  readonly #running: RunningCandidates;
  readonly #launcher: CandidateLauncher;
  readonly #turns = new FairTurns();
  readonly #throughput: Throughput;
  readonly #admission: Admission;
  /** Admitted tasks that read their prompt or have candidates to launch. */
  #tasks: Task[] = [];

  constructor(options: SchedulerOptions) {
    const { backend, padRows, nowMs } = options;
    this.#options = options;
    this.#cache = new SequenceCache(options);
    const budget = new RowBudget(backend.rowsMax);
    this.#reader = new PromptReader({ cache: this.#cache, budget, padRows, nowMs });
    this.#throughput = new Throughput(nowMs);
    this.#running = new RunningCandidates({
      cache: this.#cache,
      partition: options.partition ?? unmeasured(widthMaxOf(backend, padRows)),
      contextLength: backend.contextLength,
      padRows,
      emit: (task, event) => this.#emit(task, event),
      onEnded: (running) => this.#endRunning(running),
      onBroken: ({ task }) => {
        this.abort(task.id);
        options.onFailed(task.id, "the model computes no numbers: its weights may be damaged");
      },
    });
    this.#launcher = new CandidateLauncher({
      cache: this.#cache,
      running: this.#running,
      vocabulary: options.vocabulary,
      cutsAnywhere: options.rules.cutsAnywhere,
      emit: (task, event) => this.#emit(task, event),
      onLaunched: () => {
        this.counts.generatedTokens += 1;
      },
    });
    this.#admission = new Admission({
      cache: this.#cache,
      turns: this.#turns,
      rules: options.rules,
      launcher: this.#launcher,
      admitted: () => this.#tasks,
      onAdmitted: (task) => this.#admitted(task),
    });
  }

  get idle(): boolean {
    return this.queuedJobs === 0 && this.#tasks.length === 0 && this.#running.count === 0;
  }

  get queuedJobs(): number {
    return this.#admission.queuedCount;
  }

  get runningCandidates(): number {
    return this.#running.count;
  }

  get busySlots(): number {
    return this.#cache.busyCount;
  }

  /** Tokens that all sequences hold, and those of them that no job uses. */
  get heldTokens(): { readonly all: number; readonly idle: number } {
    return this.#cache.heldTokens;
  }

  /** Throws an ApiError when the queue is full. */
  submit(id: number, job: Job): void {
    if (this.queuedJobs >= (this.#options.queuedJobsMax ?? queuedJobsMax)) {
      const retryAfterMs = this.#throughput.retryAfterMs(this.#admission.queuedJobs);
      throw new ApiError("overloaded", {}, { retry: { shouldRetry: true, retryAfterMs } });
    }
    if (job.prompt.length === 0 || job.prompt.length > this.#options.backend.contextLength) {
      throw new RangeError(`a prompt of ${job.prompt.length} tokens does not fit the context`);
    }
    const task = newTask(id, job);
    this.#turns.join(job);
    if (needsPrompt(job)) this.#admission.add(task);
    else this.#finishUnread(task);
  }

  /** Forgets a job and frees its slots. No further event of it is sent. */
  abort(id: number): void {
    const tasks = [...this.#tasks, ...this.#running.all().map(({ task }) => task)];
    const task = this.#admission.find(id) ?? tasks.find((one) => one.id === id);
    if (task === undefined) return;
    task.launched = task.job.candidates;
    task.finished = task.job.candidates;
    for (const running of this.#running.all()) if (running.task === task) this.#stop(running);
    this.#releasePrompt(task);
    this.#admission.remove(task);
    this.#tasks = this.#tasks.filter((other) => other !== task);
    this.#turns.leave(task.job);
  }

  /** One round. Throws what the backend throws: its sequences are then of no more use. */
  step(): void {
    this.#admission.giveSlots();
    this.#readPrompt();
    this.#launchInPlace();
    this.#generate();
    if (this.idle) this.#cache.check();
  }

  #admitted(task: Task): void {
    this.#tasks.push(task);
    this.#emit(task, { kind: "admitted" });
    if (!isReading(task)) this.#promptRead(task);
  }

  #readPrompt(): void {
    const task = this.#turns.next(this.#tasks.filter(isReading), ({ job }) => job);
    if (task === undefined) return;
    const targetMs = this.#running.count > 0 ? stepPromptMsMax : lonePromptMsMax;
    const rows = this.#reader.readChunk(task, targetMs);
    this.counts.readTokens += rows;
    this.#turns.charge(task.job, rows);
    this.#throughput.record(rows);
    if (!isReading(task)) this.#promptRead(task);
    else this.#tasks.push(...this.#tasks.splice(this.#tasks.indexOf(task), 1));
  }

  #promptRead(task: Task): void {
    if (task.job.maxTokens === 0) this.#finishUnread(task);
    else this.#tellPrompt(task);
  }

  #tellPrompt(task: Task): void {
    if (task.promptTold) return;
    task.promptTold = true;
    this.counts.cachedTokens += task.cached;
    const scores = promptScores(task);
    this.#emit(task, { kind: "prompt", cachedTokens: task.cached, scores });
  }

  /** A job that generates nothing: its candidates end where they start. */
  #finishUnread(task: Task): void {
    if (task.slot === undefined) this.#emit(task, { kind: "admitted" });
    this.#tellPrompt(task);
    this.#releasePrompt(task);
    this.#tasks = this.#tasks.filter((other) => other !== task);
    this.#launcher.endAll(task, () => this.#candidateEnded(task));
  }

  #launchInPlace(): void {
    for (const task of this.#tasks) if (!isReading(task)) this.#launcher.launchInPlace(task);
    this.#tasks = this.#tasks.filter((task) => waitingCandidates(task) > 0);
  }

  #generate(): void {
    const running = this.#running.all();
    for (const { task } of running) this.#turns.charge(task.job, 1);
    this.#throughput.record(running.length);
    this.counts.generatedTokens += running.length;
    this.#running.advance();
  }

  #endRunning(running: RunningCandidate): void {
    this.#stop(running);
    this.#candidateEnded(running.task);
  }

  #stop(running: RunningCandidate): void {
    const { task, slot } = running;
    this.#running.remove(running);
    if (slot !== task.slot) this.#cache.release(slot);
    else if (waitingCandidates(task) === 0) this.#releasePrompt(task);
  }

  #candidateEnded(task: Task): void {
    task.finished += 1;
    if (!isEnded(task)) return;
    this.#turns.leave(task.job);
    this.#options.onEnded(task.id);
  }

  #releasePrompt(task: Task): void {
    if (task.slot !== undefined) this.#cache.release(task.slot);
    task.slot = undefined;
  }

  #emit(task: Task, event: EngineEvent): void {
    this.#options.onEvent(task.id, event);
  }
}
