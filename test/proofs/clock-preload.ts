/**
 * Loaded in front of a server (`node --import`): its wall clock, in every thread, is ahead of the
 * machine's by the milliseconds that a file holds. Clocks that only go forward stay as they are.
 */
import { readFileSync } from "node:fs";

const file = process.env.PROOF_CLOCK_FILE ?? "";
const RealDate = Date;
/** The file is read again after so many milliseconds. */
const freshMs = 5;
let readMs = Number.NEGATIVE_INFINITY;
let aheadMs = 0;

function now(): number {
  if (performance.now() - readMs > freshMs) {
    readMs = performance.now();
    // A file that is being replaced is never empty: it is renamed into its place.
    aheadMs = Number(readFileSync(file, "utf8"));
  }
  return RealDate.now() + aheadMs;
}

class ShiftedDate extends RealDate {
  constructor(...given: [] | ConstructorParameters<typeof RealDate>) {
    super(...((given.length === 0 ? [now()] : given) as [number]));
  }

  static override now(): number {
    return now();
  }
}

globalThis.Date = ShiftedDate as DateConstructor;
