/**
 * Events of one job on their way from the engine process to whoever reads them. An engine does not
 * wait for a slow reader, so what may wait for one has a limit.
 */

/** Events of one job that may wait for their reader: minutes of a stream that nobody reads. */
export const waitingEventsMax = 65_536;

export class EventQueue<T> implements AsyncIterableIterator<T> {
  readonly #items: T[] = [];
  readonly #itemsMax: number;
  #end: { readonly error: unknown } | "done" | undefined;
  #wake: (() => void) | undefined;

  constructor(itemsMax = waitingEventsMax) {
    this.#itemsMax = itemsMax;
  }

  /** False when the queue is full: the item is not kept, and the queue is to be failed. */
  push(item: T): boolean {
    if (this.#end !== undefined) return true;
    if (this.#items.length >= this.#itemsMax) return false;
    this.#items.push(item);
    this.#wake?.();
    return true;
  }

  /** The reader gets what is there, then the end. */
  finish(): void {
    this.#end ??= "done";
    this.#wake?.();
  }

  /** The reader gets what is there, then the error. */
  fail(error: unknown): void {
    this.#end ??= { error };
    this.#wake?.();
  }

  async next(): Promise<IteratorResult<T, undefined>> {
    while (this.#items.length === 0) {
      if (this.#end === "done") return { done: true, value: undefined };
      if (this.#end !== undefined) throw this.#end.error;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    return { done: false, value: this.#items.shift() as T };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
