/** The process that runs the model, found among all that come from another. */
import { readFileSync } from "node:fs";

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

/** Only on Linux. Throws when there is none. */
export function engineProcessOf(pid: number): number {
  const waiting = [pid];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (read(`/proc/${next}/cmdline`).includes("engine-process")) return next;
    const children = read(`/proc/${next}/task/${next}/children`).trim().split(" ");
    waiting.push(...children.filter((child) => child !== "").map(Number));
  }
  throw new Error(`process ${pid} has started no engine`);
}
