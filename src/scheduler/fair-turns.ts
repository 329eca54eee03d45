/**
 * Whose turn it is, by start-time fair queueing: every owner, and every request of an owner, has a
 * virtual time that goes up by the tokens computed for it. Whoever is lowest goes next, and who
 * comes anew starts at the time of the one served last, so that neither a flood of new requests nor
 * one request for a thousand candidates keeps the others from their share.
 */
import type { Job } from "../engine/engine.ts";

export class FairTurns {
  readonly #owners = new VirtualTimes();
  readonly #requests = new VirtualTimes();

  join(job: Job): void {
    this.#owners.join(ownerKey(job));
    this.#requests.join(requestKey(job));
  }

  leave(job: Job): void {
    this.#owners.leave(ownerKey(job));
    this.#requests.leave(requestKey(job));
  }

  charge(job: Job, tokens: number): void {
    this.#owners.charge(ownerKey(job), tokens);
    this.#requests.charge(requestKey(job), tokens);
  }

  /** Negative when `left` goes before `right`; 0 leaves it to the order of arrival. */
  compare(left: Job, right: Job): number {
    const priority = priorityOf(left) - priorityOf(right);
    if (priority !== 0) return priority;
    const owner = this.#owners.of(ownerKey(left)) - this.#owners.of(ownerKey(right));
    if (owner !== 0) return owner;
    return this.#requests.of(requestKey(left)) - this.#requests.of(requestKey(right));
  }

  /** The first of those that go next; undefined for none. */
  next<T>(contenders: Iterable<T>, jobOf: (contender: T) => Job): T | undefined {
    let first: T | undefined;
    for (const contender of contenders) {
      if (first === undefined || this.compare(jobOf(contender), jobOf(first)) < 0) {
        first = contender;
      }
    }
    return first;
  }
}

class VirtualTimes {
  readonly #entries = new Map<string, { time: number; jobs: number }>();
  /** Time of the one served last. */
  #now = 0;

  of(key: string): number {
    return this.#entries.get(key)?.time ?? this.#now;
  }

  join(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) this.#entries.set(key, { time: this.#now, jobs: 1 });
    else entry.jobs += 1;
  }

  leave(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    entry.jobs -= 1;
    if (entry.jobs === 0) this.#entries.delete(key);
  }

  charge(key: string, tokens: number): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#now = Math.max(this.#now, entry.time);
    entry.time += tokens;
  }
}

function priorityOf(job: Job): number {
  return job.caller?.priority === "batch" ? 1 : 0;
}

function ownerKey(job: Job): string {
  return job.caller?.owner ?? "";
}

function requestKey(job: Job): string {
  return job.caller === undefined ? "" : `${job.caller.owner}\n${job.caller.request}`;
}
