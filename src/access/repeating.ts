/** Work that is done again and again, never twice at once, and that keeps no process alive. */

export interface Repeating {
  /** Resolves when the work that runs has ended; it does not begin again. */
  stop(): Promise<void>;
}

/** What `work` rejects with is given to `onError`; the next round comes all the same. */
export function repeat(
  everyMs: number,
  work: () => Promise<void>,
  onError: (error: unknown) => void,
): Repeating {
  let running: Promise<void> | undefined;
  const timer = setInterval(() => {
    running ??= work()
      .catch(onError)
      .finally(() => {
        running = undefined;
      });
  }, everyMs);
  timer.unref();
  return {
    stop: async () => {
      clearInterval(timer);
      await running;
    },
  };
}
