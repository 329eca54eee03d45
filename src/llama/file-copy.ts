/**
 * Keeps weights from lying in memory twice. Where the library rewrites them for the processor it
 * copies them into memory of its own, and a file that is mapped besides would still count as this
 * process's memory: what is read of it, the rows of the vocabulary, lies next to what is not, and
 * systems bring pages by the megabyte. Such a file is read, not mapped.
 */
import { readFileSync, statSync } from "node:fs";

/** Of the files' size, how much is copied when most weights are. */
const copiedShareMin = 1 / 2;

export interface LoadAttempt {
  readonly mapsFile: boolean;
  /** To be called once the memory for weights is set aside; false: the attempt has to end there. */
  readonly goesOn: () => boolean;
}

/**
 * Loads by calling `load`, with the files mapped; when that turns out to copy most of them, the
 * attempt is ended before any weight is read, and its result dropped for one without mapping.
 */
export function loadWithoutCopy<Loaded>(
  paths: readonly string[],
  load: (attempt: LoadAttempt) => Loaded,
  dataBytes: () => number = ownDataBytes,
): Loaded {
  const beforeBytes = dataBytes();
  let copies: boolean | undefined;
  const goesOn = () => {
    copies ??= dataBytes() - beforeBytes > copiedShareMin * sizeOf(paths);
    return !copies;
  };
  const loaded = load({ mapsFile: true, goesOn });
  return copies ? load({ mapsFile: false, goesOn: () => true }) : loaded;
}

const sizeOf = (paths: readonly string[]): number =>
  paths.reduce((sum, path) => sum + statSync(path).size, 0);

/** Bytes that this process may write to, touched or not; 0 where the system does not tell. */
function ownDataBytes(): number {
  try {
    const status = readFileSync("/proc/self/status", "utf8");
    return Number(/^VmData:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}
