/** An engine process must not outlive its server, not even one that was killed in mid-step. */
import koffi from "koffi";
import { prepareNativeCalls } from "./native-calls.ts";

const setParentDeathSignal = 1; // PR_SET_PDEATHSIG, prctl(2)
const sigkill = 9;

/**
 * On Linux the system ends this process as soon as the one that started it is gone. Elsewhere the
 * closed channel does, at the end of the step.
 */
export function dieWithParent(parentPid: number): void {
  if (process.platform !== "linux") return;
  prepareNativeCalls();
  try {
    const libc = koffi.load("libc.so.6");
    const prctl = libc.func(
      "int prctl(int, unsigned long, unsigned long, unsigned long, unsigned long)",
    );
    prctl(setParentDeathSignal, sigkill, 0, 0, 0);
  } catch {
    return; // no such C library: the channel has to do
  }
  // It may have gone before the system was asked.
  if (process.ppid !== parentPid) process.exit(0);
}
