/**
 * A job on its way through the scheduler: first its prompt is read into one slot, then candidates
 * run, the first in that slot and the others in copies of it.
 *
 *   prompt tokens   0 ............ read ............ length
 *                   [ in the slot ][ still to read  )
 *
 * The prompt's slot stays with the task until its last candidate was launched: later candidates
 * are copied from it, cut back to the prompt.
 */
import type { Job, Score } from "../engine/engine.ts";

export interface Task {
  readonly id: number;
  readonly job: Job;
  /** The slot that holds the prompt; undefined while queued and after the last launch. */
  promptSlot: number | undefined;
  /** Prompt tokens that are in the slot. */
  read: number;
  readonly scores: Score[];
  /** Logits of the last prompt row, kept for candidates that start in a later wave. */
  lastRow: Float32Array | undefined;
  /** Number of the next candidate to launch. */
  launched: number;
  /** Candidates that have ended. */
  finished: number;
}

export function newTask(id: number, job: Job): Task {
  return {
    id,
    job,
    promptSlot: undefined,
    read: 0,
    scores: [],
    lastRow: undefined,
    launched: 0,
    finished: 0,
  };
}

/** Whether the model has to see the prompt at all: not for an empty text without scores. */
export function needsPrompt(job: Job): boolean {
  return job.maxTokens > 0 || (job.scoreFrom !== undefined && job.scoreFrom < job.prompt.length);
}

export function isReading(task: Task): boolean {
  return task.promptSlot !== undefined && task.read < task.job.prompt.length;
}

/** Whether logits of prompt row `index` are wanted: row i tells the probability of token i + 1. */
export function wantsLogits(job: Job, index: number): boolean {
  const last = job.prompt.length - 1;
  if (index === last) return job.maxTokens > 0;
  return job.scoreFrom !== undefined && index + 1 >= job.scoreFrom;
}

export function waitingCandidates(task: Task): number {
  return task.job.candidates - task.launched;
}
