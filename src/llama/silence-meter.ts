/**
 * Measures how long an engine process has been silent while it has work. Time counts only in pieces
 * between looks, so that a machine that slept, or a server that was itself held up, is not taken for
 * an engine that hangs.
 */

/** A silence of so many times the longest of late is no longer the usual slowness. */
const slowFactor = 4;
/** How long a silence that ended well is remembered, at least. */
const memoryMs = 600_000;
/** Two looks further apart than planned by this: whoever looks was away. */
const awayMsMin = 1_000;

export interface SilenceMeterOptions {
  readonly limitMs: number;
  /** Planned time between two looks. */
  readonly lookEveryMs: number;
  readonly nowMs: number;
}

export class SilenceMeter {
  readonly #limitMs: number;
  readonly #awayMs: number;
  #lookedMs: number;
  /** Whether the time until the next look is to count as silence, if nothing is heard. */
  #listening = false;
  #silentMs = 0;
  /** Longest silences that ended well: of this stretch of time and of the one before. */
  #longestMs = 0;
  #longestBeforeMs = 0;
  #stretchMs = 0;

  constructor(options: SilenceMeterOptions) {
    this.#limitMs = options.limitMs;
    this.#awayMs = options.lookEveryMs + Math.max(options.lookEveryMs, awayMsMin);
    this.#lookedMs = options.nowMs;
  }

  get silentMs(): number {
    return this.#silentMs;
  }

  /** What is too long: the limit, or more where long silences have been usual of late. */
  get limitMs(): number {
    return Math.max(this.#limitMs, slowFactor * Math.max(this.#longestMs, this.#longestBeforeMs));
  }

  get tooLong(): boolean {
    return this.#silentMs > this.limitMs;
  }

  /** A sign of life. */
  heard(): void {
    this.learn(this.#silentMs);
    this.#silentMs = 0;
    this.#listening = false;
  }

  /** A silence of this length is known to be harmless. */
  learn(silenceMs: number): void {
    this.#longestMs = Math.max(this.#longestMs, silenceMs);
  }

  /**
   * To be called regularly; `waiting`: whether there is work to hear of. Returns the time that
   * counts since the last look: 0 after an absence.
   */
  look(nowMs: number, waiting: boolean): number {
    const elapsedMs = nowMs - this.#lookedMs;
    this.#lookedMs = nowMs;
    const countedMs = elapsedMs > this.#awayMs ? 0 : elapsedMs;
    if (waiting) this.#forget(countedMs);
    if (waiting && this.#listening && countedMs > 0) this.#silentMs += countedMs;
    else this.#silentMs = 0;
    this.#listening = waiting;
    return countedMs;
  }

  #forget(countedMs: number): void {
    this.#stretchMs += countedMs;
    if (this.#stretchMs < memoryMs) return;
    this.#stretchMs = 0;
    this.#longestBeforeMs = this.#longestMs;
    this.#longestMs = 0;
  }
}
