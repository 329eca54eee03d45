/** What the machine is, and how quiet it is. */
import { arch, availableParallelism, cpus, loadavg, platform, release, totalmem } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { packageVersion as libraryVersion } from "../llama/platform-package.ts";
import { busyShareMax, type MachineFacts } from "./report.ts";

export function machineFacts(completionist: string): MachineFacts {
  return {
    processor: cpus()[0]?.model ?? "unknown",
    cores: availableParallelism(),
    memoryBytes: totalmem(),
    system: `${platform()} ${release()}, ${arch()}`,
    node: process.version,
    completionist,
    library: libraryVersion,
  };
}

export interface Quietness {
  /** Of one minute; programs that have just ended still count in it. */
  readonly loadAverage: number;
  /** Share of all cores in use in one second, in which the bench does nothing. */
  readonly busyShare: number;
}

const sampleMs = 1_000;

export async function measureQuietness(signal: AbortSignal): Promise<Quietness> {
  const before = coreTimes();
  await delay(sampleMs, undefined, { signal });
  const after = coreTimes();
  const all = after.all - before.all;
  const idle = after.idle - before.idle;
  return {
    loadAverage: loadavg()[0] ?? 0,
    busyShare: all <= 0 ? 0 : Math.min(1, Math.max(0, 1 - idle / all)),
  };
}

function coreTimes(): { readonly all: number; readonly idle: number } {
  let all = 0;
  let idle = 0;
  for (const { times } of cpus()) {
    all += times.user + times.nice + times.sys + times.idle + times.irq;
    idle += times.idle;
  }
  return { all, idle };
}

/** undefined on a quiet machine. */
export function quietnessWarning({ busyShare, loadAverage }: Quietness): string | undefined {
  if (busyShare <= busyShareMax) return undefined;
  const percent = Math.round(busyShare * 100);
  return (
    `other programs use ${percent} % of the machine (load ${loadAverage.toFixed(1)}): ` +
    "the figures of this row are not to be trusted"
  );
}
