/**
 * The sequences of a backend as slots to be taken and given back. The lowest free one goes first:
 * active slots stay dense, and only neighbours share a micro-batch in the native library.
 */
export class SlotPool {
  readonly size: number;
  readonly #taken: boolean[];
  #freeCount: number;

  constructor(size: number) {
    if (!Number.isInteger(size) || size < 1) throw new RangeError(`slots must be >= 1: ${size}`);
    this.size = size;
    this.#taken = new Array<boolean>(size).fill(false);
    this.#freeCount = size;
  }

  get freeCount(): number {
    return this.#freeCount;
  }

  /** The lowest free slot, now taken; undefined when none is free. */
  take(): number | undefined {
    const slot = this.#taken.indexOf(false);
    if (slot < 0) return undefined;
    this.#taken[slot] = true;
    this.#freeCount -= 1;
    return slot;
  }

  giveBack(slot: number): void {
    if (this.#taken[slot] !== true) throw new Error(`slot ${slot} was not taken`);
    this.#taken[slot] = false;
    this.#freeCount += 1;
  }
}
