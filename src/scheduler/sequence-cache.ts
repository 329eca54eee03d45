/**
 * The sequences of a backend together with the record of what each holds. Nothing else touches the
 * backend, so that record and sequence cannot come apart; when the engine is idle this is checked.
 *
 * What each operation does to a slot:
 *   match    nothing          take      makes it busy, keeps or empties it
 *   decode   appends rows     fork      overwrites the target with the source
 *   cut      drops a tail     release   makes it idle; it may be emptied at any later time
 */
import type { Job } from "../engine/engine.ts";
import type { Backend, Row } from "./backend.ts";
import { type HeldPrompt, keptLength, type MatchRules, scoreCovers } from "./prefix-match.ts";
import { commonPrefix, Slot } from "./slot.ts";

/** Copying a sequence costs about as much as reading this many tokens: fewer are read again. */
export const copyTokensMin = 32;
/** Of the idle sequences, how many of the longest unused ones may be given away for density. */
const victimShare = 1 / 2;
/** Memory that a kept score takes beside its token, roughly: an object and its alternatives. */
const scoreBytes = 64;
const alternativeBytes = 48;

export interface SequenceCacheOptions {
  readonly backend: Backend;
  readonly rules: MatchRules;
  /** Whether generated tokens may serve as the beginning of a prompt. */
  readonly reuseGenerated: boolean;
  /** Memory of one token in the key-value cache. */
  readonly bytesPerToken: number;
  /** What idle sequences may hold in all, with their scores. */
  readonly idleBytesMax: number;
}

export interface PrefixMatch {
  readonly slot: Slot;
  /** Prompt tokens that need not be read. */
  readonly kept: number;
}

export class SequenceCache {
  readonly slots: readonly Slot[];
  readonly #backend: Backend;
  readonly #options: SequenceCacheOptions;
  #uses = 0;

  constructor(options: SequenceCacheOptions) {
    this.#options = options;
    this.#backend = options.backend;
    this.slots = Array.from({ length: options.backend.sequences }, (_, id) => new Slot(id));
  }

  get busyCount(): number {
    return this.slots.filter((slot) => slot.busy).length;
  }

  get heldTokens(): { readonly all: number; readonly idle: number } {
    let [all, idle] = [0, 0];
    for (const { length, busy } of this.slots) {
      all += length;
      if (!busy) idle += length;
    }
    return { all, idle };
  }

  get hasFree(): boolean {
    return this.slots.some((slot) => !slot.busy);
  }

  /** The slot that spares the most of the job's prompt; undefined when none spares anything. */
  match(job: Job): PrefixMatch | undefined {
    let best: PrefixMatch | undefined;
    for (const slot of this.slots) {
      if (slot.isEmpty || slot.owner !== ownerOf(job)) continue;
      const kept = keptLength(job, this.held(slot), this.#options.rules);
      if (kept === 0 || (slot.busy && kept < copyTokensMin)) continue;
      const better = best === undefined || kept > best.kept;
      // Among equals an idle one: it can be used where it stands.
      if (better || (kept === best?.kept && best.slot.busy && !slot.busy)) best = { slot, kept };
    }
    return best;
  }

  held(slot: Slot): HeldPrompt {
    return {
      tokens: slot.tokens,
      reusableLength: this.#options.reuseGenerated ? slot.length : slot.promptLength,
      hasScore: (index, topCount) => scoreCovers(slot.scores[index], topCount),
      hasRow: (position) => slot.lastRow?.position === position,
    };
  }

  /**
   * A busy slot that begins with what the match keeps; undefined when all slots are busy. An idle
   * match is used where it stands unless most of what it holds would be lost.
   */
  take(owner: string, match?: PrefixMatch): Slot | undefined {
    if (match !== undefined && !match.slot.busy) {
      const { slot, kept } = match;
      const lost = this.held(slot).reusableLength - kept;
      const copies = lost > kept && kept >= copyTokensMin && this.#victim(slot) !== undefined;
      if (!copies) return this.#use(slot, owner, kept);
    }
    const slot = this.#victim(match?.slot);
    if (slot === undefined) return undefined;
    if (match === undefined) return this.#use(slot, owner, 0);
    this.fork(match.slot, slot);
    return this.#use(slot, owner, match.kept);
  }

  /** Makes `to` equal to `from`. */
  fork(from: Slot, to: Slot): void {
    this.#backend.copySequence(from.id, to.id);
    to.become(from);
  }

  /** Drops the tail; false when the model cannot, and then the slot is empty. */
  cut(slot: Slot, length: number): boolean {
    if (slot.length <= length) return true;
    const done = this.#backend.trimSequence(slot.id, length);
    if (!done) this.#backend.trimSequence(slot.id, 0);
    slot.cut(done ? length : 0);
    return done;
  }

  /** Evaluates rows; `tokens` of each sequence grow by its rows. */
  decode(rows: readonly Row[]): void {
    this.#backend.decode(rows);
    for (const row of rows) this.slots[row.sequence]?.tokens.push(row.token);
  }

  logits(row: number): Float32Array {
    return this.#backend.logits(row);
  }

  /** The slot is idle now. What cannot be used again, or is held elsewhere too, is forgotten. */
  release(slot: Slot): void {
    slot.busy = false;
    slot.lastUse = ++this.#uses;
    const { cutsAnywhere } = this.#options.rules;
    const { reusableLength } = this.held(slot);
    if (cutsAnywhere) this.cut(slot, reusableLength);
    else if (slot.length > reusableLength) this.cut(slot, 0);
    if (this.#isHeldElsewhere(slot)) this.cut(slot, 0);
    this.#keepWithinLimit();
  }

  /** Throws when record and backend disagree. Called when nothing runs. */
  check(): void {
    for (const slot of this.slots) {
      const actual = this.#backend.sequenceLength?.(slot.id) ?? slot.length;
      if (actual === slot.length && !slot.busy) continue;
      const holds = `holds ${actual} tokens, recorded are ${slot.length}`;
      throw new Error(`sequence ${slot.id} ${slot.busy ? "is busy in an idle engine" : holds}`);
    }
  }

  #use(slot: Slot, owner: string, kept: number): Slot | undefined {
    this.cut(slot, kept);
    slot.busy = true;
    slot.owner = owner;
    slot.lastUse = ++this.#uses;
    return slot;
  }

  /**
   * An empty slot, else one of those that were not used for longest; among these the one that lies
   * densest, since a call steps only runs of neighbouring sequences together.
   */
  #victim(except?: Slot): Slot | undefined {
    const idle = this.slots.filter((slot) => !slot.busy && slot !== except);
    const empty = idle.filter((slot) => slot.isEmpty);
    if (empty.length > 0) return this.#densest(empty);
    const oldest = idle.toSorted((left, right) => left.lastUse - right.lastUse);
    return this.#densest(oldest.slice(0, Math.ceil(oldest.length * victimShare)));
  }

  /** The first of those with most busy neighbours. */
  #densest(slots: readonly Slot[]): Slot | undefined {
    const neighbours = ({ id }: Slot): number =>
      [id - 1, id + 1].filter((other) => this.slots[other]?.busy).length;
    return slots.reduce<Slot | undefined>(
      (best, slot) => (best === undefined || neighbours(slot) > neighbours(best) ? slot : best),
      undefined,
    );
  }

  #isHeldElsewhere(slot: Slot): boolean {
    return this.slots.some((other) => {
      if (other === slot || other.owner !== slot.owner || other.length < slot.length) return false;
      const { reusableLength } = this.held(other);
      const common = commonPrefix(slot.tokens, other.tokens, reusableLength);
      if (common < slot.length) return false;
      const lastRow =
        slot.lastRow === undefined || other.lastRow?.position === slot.lastRow.position;
      return lastRow && slot.scores.every((score, index) => score === other.scores[index]);
    });
  }

  #keepWithinLimit(): void {
    const idle = this.slots.filter((slot) => !slot.busy && !slot.isEmpty);
    idle.sort((left, right) => left.lastUse - right.lastUse);
    let bytes = idle.reduce((sum, slot) => sum + this.#bytes(slot), 0);
    for (const slot of idle) {
      if (bytes <= this.#options.idleBytesMax) return;
      bytes -= this.#bytes(slot);
      this.cut(slot, 0);
    }
  }

  #bytes(slot: Slot): number {
    let bytes = slot.length * this.#options.bytesPerToken;
    bytes += slot.lastRow?.logits.byteLength ?? 0;
    for (const score of slot.scores) {
      if (score !== undefined) bytes += scoreBytes + alternativeBytes * score.top.length;
    }
    return bytes;
  }
}

export function ownerOf(job: Job): string {
  return job.caller?.owner ?? "";
}
