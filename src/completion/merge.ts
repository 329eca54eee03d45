/**
 * Many async iterables as one, in the order in which their items come. Each source has at most one
 * item waiting, so a slow reader holds the sources back.
 */
export async function* merge<T>(sources: readonly AsyncIterable<T>[]): AsyncGenerator<T, void> {
  const iterators = sources.map((source) => source[Symbol.asyncIterator]());
  const ready: Settled<T>[] = [];
  let wake = () => {};
  const pull = (index: number) => {
    const settle = (settled: Settled<T>) => {
      ready.push(settled);
      wake();
    };
    (iterators[index] as AsyncIterator<T>).next().then(
      (result) => settle({ index, result }),
      (error: unknown) => settle({ index, error }),
    );
  };
  let open = iterators.length;
  for (let index = 0; index < iterators.length; index++) pull(index);
  try {
    while (open > 0) {
      const settled = ready.shift();
      if (settled === undefined) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
        continue;
      }
      if (settled.result === undefined) throw settled.error;
      if (settled.result.done === true) open -= 1;
      else {
        yield settled.result.value;
        pull(settled.index);
      }
    }
  } finally {
    // Not awaited: a source that waits for its next item would not answer before it comes.
    for (const iterator of iterators) iterator.return?.()?.then(undefined, () => {});
  }
}

interface Settled<T> {
  readonly index: number;
  readonly result?: IteratorResult<T, unknown>;
  readonly error?: unknown;
}
