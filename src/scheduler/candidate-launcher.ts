/**
 * Starts the candidates of tasks whose prompt has been read. One at a time runs in the prompt's
 * own slot, the others in copies of it; when there are more candidates than slots they run in
 * waves, all drawing their first token from the same row.
 */
import { Candidate } from "../engine/candidate.ts";
import type { EngineEvent, Vocabulary } from "../engine/engine.ts";
import type { RunningCandidates } from "./running-candidates.ts";
import { ownerOf, type SequenceCache } from "./sequence-cache.ts";
import type { Slot } from "./slot.ts";
import { isReading, type Task, waitingCandidates } from "./task.ts";

export interface CandidateLauncherOptions {
  readonly cache: SequenceCache;
  readonly running: RunningCandidates;
  readonly vocabulary: Vocabulary;
  readonly cutsAnywhere: boolean;
  readonly emit: (task: Task, event: EngineEvent) => void;
  readonly onLaunched: (task: Task) => void;
}

export class CandidateLauncher {
  readonly #options: CandidateLauncherOptions;

  constructor(options: CandidateLauncherOptions) {
    this.#options = options;
  }

  /** Whether the task has candidates for which its own slot has no room now. */
  wantsCopy(task: Task): boolean {
    const { slot, job } = task;
    if (slot === undefined || isReading(task) || waitingCandidates(task) === 0) return false;
    const { cutsAnywhere, running } = this.#options;
    if (cutsAnywhere) return running.uses(slot);
    // A sequence that cannot be cut must be copied before a candidate has run in it.
    return slot.length === job.prompt.length && waitingCandidates(task) > 1;
  }

  /** False when no slot is free. */
  launchCopy(task: Task): boolean {
    const { cache } = this.#options;
    const match = { slot: task.slot as Slot, kept: task.job.prompt.length };
    const copy = cache.take(ownerOf(task.job), match);
    if (copy === undefined) return false;
    this.#launch(task, copy);
    return true;
  }

  /**
   * Runs candidates in the prompt's own slot, which is cut back to the prompt between two. Where it
   * cannot be cut the prompt has to be read again.
   */
  launchInPlace(task: Task): void {
    const { cache, running } = this.#options;
    for (let { slot } = task; slot !== undefined && waitingCandidates(task) > 0; { slot } = task) {
      if (running.uses(slot)) return;
      if (!cache.cut(slot, task.job.prompt.length)) {
        task.read = 0;
        return;
      }
      this.#launch(task, slot);
    }
  }

  /** Candidates of a job that generates nothing end where they start. */
  endAll(task: Task, onEnded: () => void): void {
    while (waitingCandidates(task) > 0) {
      this.#newCandidate(task).start((event) => this.#options.emit(task, event));
      onEnded();
    }
  }

  #launch(task: Task, slot: Slot): void {
    const candidate = this.#newCandidate(task);
    const { lastRow } = task;
    if (lastRow === undefined) throw new Error("a candidate starts from the prompt's last row");
    if (waitingCandidates(task) === 0) task.lastRow = undefined;
    this.#options.running.start({ task, candidate, slot, nextToken: 0 }, lastRow);
    this.#options.onLaunched(task);
  }

  #newCandidate(task: Task): Candidate {
    const index = task.launched;
    task.launched += 1;
    return new Candidate({ job: task.job, index, vocabulary: this.#options.vocabulary });
  }
}
