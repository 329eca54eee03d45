/**
 * One sequence of the backend and what is known about it. While a task or a candidate uses it, it
 * is busy; afterwards it is idle and what it holds may serve as the beginning of another prompt.
 *
 *   tokens   0 ......... promptLength ......... length
 *            [ read as prompt rows )[ generated     )
 *
 * Rows of a generating candidate were computed alone, with other bits than prompt rows. Where the
 * same request must give the same bytes, only what was read as a prompt is used again.
 */
import type { Score } from "../engine/engine.ts";

export interface LastRow {
  /** The position whose logits these are. */
  readonly position: number;
  readonly logits: Float32Array;
}

export class Slot {
  readonly id: number;
  busy = false;
  /** Whose prompt it holds; another owner must not learn of it. */
  owner = "";
  tokens: number[] = [];
  promptLength = 0;
  /** `scores[i]` is the score of token i, where one was computed. */
  scores: (Score | undefined)[] = [];
  /** Logits after the last prompt token, so that an equal prompt needs no row at all. */
  lastRow: LastRow | undefined;
  /** Counts up with every use; the lowest idle slot is the first to be given to others. */
  lastUse = 0;

  constructor(id: number) {
    this.id = id;
  }

  get length(): number {
    return this.tokens.length;
  }

  get isEmpty(): boolean {
    return this.tokens.length === 0;
  }

  /** Forgets what stands at `length` and after. */
  cut(length: number): void {
    this.tokens.length = Math.min(this.tokens.length, length);
    this.scores.length = Math.min(this.scores.length, length);
    this.promptLength = Math.min(this.promptLength, length);
    if (this.lastRow !== undefined && this.lastRow.position >= length) this.lastRow = undefined;
  }

  become(other: Slot): void {
    this.owner = other.owner;
    this.tokens = [...other.tokens];
    this.scores = [...other.scores];
    this.promptLength = other.promptLength;
    this.lastRow = other.lastRow;
  }
}

/** Number of tokens with which both begin, up to `limit`. */
export function commonPrefix(
  left: readonly number[],
  right: readonly number[],
  limit = Number.POSITIVE_INFINITY,
): number {
  const end = Math.min(left.length, right.length, limit);
  let length = 0;
  while (length < end && left[length] === right[length]) length += 1;
  return length;
}
