/** How much of the processor others leave free: one reading of the kernel's counters now and then. */
import { readFileSync } from "node:fs";
import { availableParallelism, cpus } from "node:os";

export interface CpuReading {
  /** Since the machine started, of all cores together, in seconds. */
  readonly busySeconds: number;
  /** Of this process. */
  readonly ownSeconds: number;
}

/** The kernel counts in hundredths of a second, so less would be too coarse. */
const windowMs = 300;
/** A longer window tells what was, while this process had nothing to do, not what is. */
const windowMsMax = 900;
const ticksPerSecond = 100;

export class FreeCores {
  readonly #cores: number;
  readonly #read: () => CpuReading | undefined;
  #startMs: number | undefined;
  #start: CpuReading | undefined;
  #free: number | undefined;

  /** `cores`: all of the machine, also those that a container may not use. */
  constructor(cores: number = cpus().length, read: () => CpuReading | undefined = readCpu) {
    this.#cores = cores;
    this.#read = read;
  }

  /** Of the last third of a second or so; undefined: not known. May be a fraction. */
  get(nowMs: number): number | undefined {
    const elapsedMs = nowMs - (this.#startMs ?? Number.NEGATIVE_INFINITY);
    if (elapsedMs < windowMs) return this.#free;
    const reading = this.#read();
    const { busySeconds = 0, ownSeconds = 0 } = this.#start ?? {};
    this.#free = undefined;
    if (reading !== undefined && elapsedMs <= windowMsMax) {
      const busy = reading.busySeconds - busySeconds - (reading.ownSeconds - ownSeconds);
      this.#free = this.#cores - Math.max(0, busy / (elapsedMs / 1000));
    }
    this.#start = reading;
    this.#startMs = reading === undefined ? Number.POSITIVE_INFINITY : nowMs;
    return this.#free;
  }
}

/** Cores that the engine may compute with; a container's limit counts. */
export function usableCores(): number {
  return availableParallelism();
}

/** Undefined where the system does not tell. */
function readCpu(): CpuReading | undefined {
  let line: string;
  try {
    line = readFileSync("/proc/stat", "utf8").split("\n", 1)[0] ?? "";
  } catch {
    return undefined;
  }
  // cpu user nice system idle iowait irq softirq steal: what guests use is in user already.
  const ticks = line.split(/\s+/).slice(1, 9).map(Number);
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, steal = 0] = ticks;
  const { user: ownUser, system: ownSystem } = process.cpuUsage();
  return {
    busySeconds: (user + nice + system + irq + softirq + steal) / ticksPerSecond,
    ownSeconds: (ownUser + ownSystem) / 1e6,
  };
}
