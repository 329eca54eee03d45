/** How long an engine process may be silent before it counts as hung. */

export interface WatchdogLimits {
  /** Longest time without a sign of life while there is work; 0: no watch is kept. */
  readonly silenceMs: number;
  /** Longest time of loading, however lively. */
  readonly loadingMs: number;
}

const silenceMsMin = 60_000;
const loadingMsMin = 600_000;
/**
 * A step may have to read the whole file again, when the system took its pages for something else:
 * from a slow disk or a network at about 50 MB/s. Loading is given five times as long.
 */
const slowestBytesPerMs = 50_000;
const loadingFactor = 5;

/** `seconds` is the user's setting; undefined: from the size of the model file. */
export function watchdogLimits(seconds: number | undefined, modelBytes: number): WatchdogLimits {
  const readingMs = modelBytes / slowestBytesPerMs;
  return {
    silenceMs: seconds === undefined ? silenceMsMin + readingMs : seconds * 1000,
    loadingMs: loadingMsMin + loadingFactor * readingMs,
  };
}
