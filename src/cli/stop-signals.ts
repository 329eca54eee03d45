/**
 * SIGINT and SIGTERM: the first asks the program to end in good order, the second ends it at once.
 */

export interface StopSignals {
  /** Aborted by the first signal. */
  readonly stopped: AbortSignal;
  /** Which signal that was. */
  readonly signal: NodeJS.Signals | undefined;
  dispose(): void;
}

export interface StopSignalOptions {
  readonly exit: (code: number) => void;
  readonly nowMs: () => number;
}

/**
 * At Ctrl-C the terminal tells every process of the group and npm passes its own copy on, so the
 * same wish arrives twice: what follows within this time is no second one.
 */
const sameWishMs = 500;

const signalNumbers = { SIGINT: 2, SIGTERM: 15 } as const;
type StopSignal = keyof typeof signalNumbers;

/** The exit code that shells give to a program ended by a signal. */
export function signalExitCode(signal: NodeJS.Signals | undefined): number {
  return 128 + (signalNumbers[signal as StopSignal] ?? 0);
}

const processOptions: StopSignalOptions = {
  exit: (code) => process.exit(code),
  nowMs: () => performance.now(),
};

/** Listens on `source` (the process) until disposed. */
export function watchStopSignals(
  source: NodeJS.EventEmitter = process,
  options: StopSignalOptions = processOptions,
): StopSignals {
  const controller = new AbortController();
  let first: { readonly signal: StopSignal; readonly atMs: number } | undefined;
  const onSignal = (signal: StopSignal) => {
    if (first === undefined) {
      first = { signal, atMs: options.nowMs() };
      controller.abort();
    } else if (options.nowMs() - first.atMs >= sameWishMs) {
      options.exit(signalExitCode(signal));
    }
  };
  const names = Object.keys(signalNumbers) as StopSignal[];
  for (const name of names) source.on(name, onSignal);
  return {
    stopped: controller.signal,
    get signal() {
      return first?.signal;
    },
    dispose: () => {
      for (const name of names) source.off(name, onSignal);
    },
  };
}
