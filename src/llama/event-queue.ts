/**
 * Events of one job on their way from the engine process to whoever reads them. It needs no limit
 * of its own: a job cannot send more than maxTokens events for each of its candidates.
 */
export class EventQueue<T> implements AsyncIterableIterator<T> {
  readonly #items: T[] = [];
  #end: { readonly error: unknown } | "done" | undefined;
  #wake: (() => void) | undefined;

  push(item: T): void {
    if (this.#end !== undefined) return;
    this.#items.push(item);
    this.#wake?.();
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
