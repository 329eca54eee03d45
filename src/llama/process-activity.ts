/** Whether a process does anything at all, by what the system counts. */
import { readFileSync } from "node:fs";

// Fields of /proc/PID/stat after the name, whose end is the last parenthesis (proc_pid_stat(5)).
const minorFaults = 7;
const majorFaults = 9;
const userTicks = 11;
const systemTicks = 12;

/**
 * A text that changes when the process has computed or got memory from disk; undefined where the
 * system does not tell (anything but Linux, or when there is no such process).
 */
export function processActivity(pid: number): string | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  } catch {
    return undefined;
  }
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return [minorFaults, majorFaults, userTicks, systemTicks].map((at) => fields[at]).join(" ");
}
