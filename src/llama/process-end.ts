/** How an engine process ended, and of what kind that was. */
import { readFileSync } from "node:fs";

export const faultKinds = ["crash", "killed", "out_of_memory", "hang", "start"] as const;
/**
 * crash: it ended by itself. killed: another program ended it. out_of_memory: the system did. hang:
 * it gave no sign of life and was ended. start: it did not get as far as serving.
 */
export type FaultKind = (typeof faultKinds)[number];

export interface ProcessEnd {
  readonly kind: FaultKind;
  /** One sentence for the person who runs the server. */
  readonly sentence: string;
}

export interface EndFacts {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** Why it was ended as hung, if it was: "gave no sign of life ...". */
  readonly hung: string | undefined;
  /** `outOfMemoryKills` at its start and now. */
  readonly memoryKills: readonly [before: number | undefined, now: number | undefined];
  /** A telling line of what it wrote. */
  readonly said: string | undefined;
}

export function processEnd({ code, signal, hung, memoryKills, said }: EndFacts): ProcessEnd {
  const quote = said === undefined ? "" : ` (it said: ${said})`;
  const end = (kind: FaultKind, how: string): ProcessEnd => ({
    kind,
    sentence: `The engine process ${how}${quote}.`,
  });
  if (hung !== undefined) return end("hang", `${hung} and was ended`);
  if (signal === null) return end("crash", `exited with code ${code}`);
  if (signal !== "SIGKILL" && signal !== "SIGTERM") return end("crash", `was ended by ${signal}`);
  const [before, now] = memoryKills;
  const forMemory = signal === "SIGKILL" && before !== undefined && now !== undefined;
  if (!forMemory || now <= before) return end("killed", `was ended by ${signal}`);
  return end("out_of_memory", "was ended by the system, because memory ran out");
}

/**
 * Processes that Linux has ended for want of memory since it was started, in containers too;
 * undefined elsewhere.
 */
export function outOfMemoryKills(): number | undefined {
  try {
    const count = /^oom_kill (\d+)$/m.exec(readFileSync("/proc/vmstat", "latin1"))?.[1];
    return count === undefined ? undefined : Number(count);
  } catch {
    return undefined;
  }
}
