/** A running server that is measured. */
import { setTimeout as delay } from "node:timers/promises";
import { BenchError } from "./bench-error.ts";
import type { Program } from "./children.ts";

export interface Target {
  readonly kind: "own" | "peer";
  /** Without a path: `http://127.0.0.1:PORT`. */
  readonly url: string;
  readonly pid: number;
  /** Whether it works on nothing. */
  isIdle(signal: AbortSignal): Promise<boolean>;
  stop(): Promise<void>;
}

const idleMsMax = 120_000;

/** Waits until the server works on nothing: what one measurement left must not burden the next. */
export async function untilIdle(target: Target, signal: AbortSignal): Promise<void> {
  const deadlineMs = performance.now() + idleMsMax;
  while (!(await target.isIdle(signal))) {
    if (performance.now() > deadlineMs) {
      throw new BenchError("failed", "a server was still at work long after its requests ended");
    }
    await delay(50, undefined, { signal });
  }
}

/** Stops the program when the signal comes in the meantime. */
export async function pause(
  timeoutMs: number,
  signal: AbortSignal,
  program: Pick<Program, "stop">,
): Promise<void> {
  try {
    await delay(timeoutMs, undefined, { signal });
  } catch (error) {
    await program.stop();
    throw error;
  }
}
