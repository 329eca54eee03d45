/** Waiting that a signal ends. */

/**
 * Settles like `work`, or rejects with the signal's reason as soon as it is aborted. The work itself
 * goes on; what becomes of it then is nobody's concern here.
 */
export async function unlessAborted<Result>(
  work: Promise<Result>,
  signal: AbortSignal,
): Promise<Result> {
  if (signal.aborted) work.catch(() => undefined);
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const abort = () => aborted.reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
