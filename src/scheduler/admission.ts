/**
 * Who gets a free slot: queued jobs and further candidates of running ones, in fair turns. A job
 * whose prompt another is just reading rather waits for it.
 */
import type { Job, Score } from "../engine/engine.ts";
import type { CandidateLauncher } from "./candidate-launcher.ts";
import type { FairTurns } from "./fair-turns.ts";
import { keptLength, type MatchRules } from "./prefix-match.ts";
import { copyTokensMin, ownerOf, type PrefixMatch, type SequenceCache } from "./sequence-cache.ts";
import { heldWhenRead, isAwaiting, isBrief, isReading, type Task } from "./task.ts";

export interface AdmissionOptions {
  readonly cache: SequenceCache;
  readonly turns: FairTurns;
  readonly rules: MatchRules;
  readonly launcher: CandidateLauncher;
  /** Tasks that have a slot, as they are now. */
  readonly admitted: () => readonly Task[];
  /** The task has its slot; what of its prompt was held already counts as read. */
  readonly onAdmitted: (task: Task) => void;
}

export class Admission {
  readonly #options: AdmissionOptions;
  /** Jobs without a slot, in the order of their arrival. */
  #queue: Task[] = [];

  constructor(options: AdmissionOptions) {
    this.#options = options;
  }

  get queuedJobs(): readonly Job[] {
    return this.#queue.map(({ job }) => job);
  }

  get queuedCount(): number {
    return this.#queue.length;
  }

  find(id: number): Task | undefined {
    return this.#queue.find((task) => task.id === id);
  }

  add(task: Task): void {
    this.#queue.push(task);
  }

  remove(task: Task): void {
    this.#queue = this.#queue.filter((other) => other !== task);
  }

  /**
   * Gives free slots away as long as somebody takes one. Each pass gives every contender one at
   * most, so that many waiting candidates of one request do not take them all at once.
   */
  giveSlots(): void {
    const { cache, turns, launcher, admitted } = this.#options;
    for (let given = true; given && cache.hasFree; ) {
      given = false;
      const contenders = [
        ...this.#queue.filter((task) => !isAwaiting(task)),
        ...admitted().filter((task) => launcher.wantsCopy(task)),
      ].sort((left, right) => turns.compare(left.job, right.job));
      for (const task of contenders) {
        if (!cache.hasFree) return;
        const took = task.slot === undefined ? this.#admit(task) : launcher.launchCopy(task);
        given ||= took;
      }
    }
  }

  /** False when the task rather waits for another's prompt. */
  #admit(task: Task): boolean {
    const { cache } = this.#options;
    const match = cache.match(task.job);
    if (this.#awaitReader(task, match)) return false;
    const boundaryScore = match === undefined ? undefined : scoreAt(match.kept, match, task);
    const slot = cache.take(ownerOf(task.job), match);
    if (slot === undefined) return false;
    task.slot = slot;
    task.cached = slot.length;
    task.read = slot.length;
    task.boundaryScore = boundaryScore;
    if (!isReading(task)) task.lastRow = slot.lastRow?.logits;
    this.remove(task);
    this.#options.onAdmitted(task);
    return true;
  }

  // A prompt that is being read is worth waiting for when it spares more than what is held now, or
  // when its slot will be idle at once and needs no copy.
  #awaitReader(task: Task, match: PrefixMatch | undefined): boolean {
    const kept = match?.kept ?? 0;
    for (const other of this.#options.admitted()) {
      if (!isReading(other) || ownerOf(other.job) !== ownerOf(task.job)) continue;
      const read = keptLength(task.job, heldWhenRead(other), this.#options.rules);
      const freesMatch = isBrief(other) && match !== undefined && match.slot === other.slot;
      if (freesMatch || read >= kept + copyTokensMin) task.awaited = { task: other, read };
    }
    return isAwaiting(task);
  }
}

/** The score of a token that is the same in the match and in the task's prompt. */
function scoreAt(index: number, { slot }: PrefixMatch, { job }: Task): Score | undefined {
  return slot.tokens[index] === job.prompt[index] ? slot.scores[index] : undefined;
}
