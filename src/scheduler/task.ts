/**
 * A job on its way through the scheduler: queued, then its prompt is read into a slot, then its
 * candidates run, one in that slot and others in copies of it.
 *
 *   prompt   0 ....... cached ....... read ....... length
 *            [ held before )[ computed )[ still to read  )
 *
 * The prompt's slot stays with the task until its last candidate was launched.
 */
import type { Job, Score } from "../engine/engine.ts";
import type { HeldPrompt } from "./prefix-match.ts";
import { scoreCovers } from "./prefix-match.ts";
import type { Slot } from "./slot.ts";

export interface Task {
  readonly id: number;
  readonly job: Job;
  /** The slot that holds the prompt; undefined while queued and after the last launch. */
  slot: Slot | undefined;
  /** Prompt tokens that were in the slot from the start. */
  cached: number;
  /** Prompt tokens that are in the slot. */
  read: number;
  /** Score of token `cached`, which the row before it gave when that was computed. */
  boundaryScore: Score | undefined;
  /** Logits after the prompt, from which every candidate draws its first token. */
  lastRow: Float32Array | undefined;
  /** Whether the prompt event was sent: a prompt that has to be read again is not told twice. */
  promptTold: boolean;
  /** Candidates launched and ended so far. */
  launched: number;
  finished: number;
  /** The task whose prompt, once read, spares most of this one's. */
  awaited: { readonly task: Task; readonly read: number } | undefined;
}

export function newTask(id: number, job: Job): Task {
  return {
    id,
    job,
    slot: undefined,
    cached: 0,
    read: 0,
    boundaryScore: undefined,
    lastRow: undefined,
    promptTold: false,
    launched: 0,
    finished: 0,
    awaited: undefined,
  };
}

/** Whether the model has to see the prompt at all: not for an empty text without scores. */
export function needsPrompt(job: Job): boolean {
  return job.maxTokens > 0 || (job.scoreFrom !== undefined && job.scoreFrom < job.prompt.length);
}

export function isReading(task: Task): boolean {
  return task.slot !== undefined && task.read < task.job.prompt.length;
}

export function waitingCandidates(task: Task): number {
  return task.job.candidates - task.launched;
}

export function isEnded(task: Task): boolean {
  return task.finished === task.job.candidates;
}

/** A task whose slot is idle as soon as its prompt was read. */
export function isBrief({ job }: Task): boolean {
  return job.maxTokens === 0 || (job.maxTokens === 1 && job.candidates === 1);
}

/** Whether a queued task still waits for another's prompt. */
export function isAwaiting(task: Task): boolean {
  if (task.awaited === undefined) return false;
  const { task: other, read } = task.awaited;
  const isThere = isBrief(other) ? isEnded(other) : other.read >= read;
  if (other.slot !== undefined && !isThere) return true;
  task.awaited = undefined;
  return false;
}

/** What the task's slot will hold when its prompt has been read. */
export function heldWhenRead({ job, slot }: Task): HeldPrompt {
  const { prompt, scoreFrom, topLogprobs = 0 } = job;
  return {
    tokens: prompt,
    reusableLength: prompt.length,
    hasScore: (index, topCount) =>
      scoreCovers(slot?.scores[index], topCount) ||
      (scoreFrom !== undefined && index >= scoreFrom && topLogprobs >= topCount),
    hasRow: (position) => job.maxTokens > 0 && position === prompt.length - 1,
  };
}

/** Whether logits of prompt row `index` are wanted: row i tells the probability of token i + 1. */
export function wantsLogits(job: Job, index: number): boolean {
  const last = job.prompt.length - 1;
  if (index === last) return job.maxTokens > 0;
  return job.scoreFrom !== undefined && index + 1 >= job.scoreFrom;
}

/** The scores of the prompt event, from the slot that has them. */
export function promptScores({ job, slot }: Task): Score[] {
  if (job.scoreFrom === undefined || slot === undefined) return [];
  const topCount = job.topLogprobs ?? 0;
  const scores = slot.scores.slice(job.scoreFrom, job.prompt.length);
  return scores.map((score) => {
    if (score === undefined) throw new Error("a scored prompt has a score for every token");
    if (score.top.length === topCount) return score;
    return { logprob: score.logprob, top: score.top.slice(0, topCount) };
  });
}
