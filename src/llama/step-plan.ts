/**
 * How the steps of a loaded model are computed: with how many threads, and in how many calls. Both
 * are measured once a model is loaded, with few threads and, when the cores are free, with all.
 */
import type { Backend } from "../scheduler/backend.ts";
import { GovernedBackend, workOf } from "../scheduler/governed-backend.ts";
import { widthMaxOf } from "../scheduler/scheduler.ts";
import { ThreadGovernor } from "../scheduler/thread-governor.ts";
import type { MeasuredCall } from "../scheduler/width-measure.ts";
import { type Partition, WidthPlanner } from "../scheduler/width-planner.ts";
import { FreeCores, usableCores } from "./free-cores.ts";
import type { LoadOptions } from "./messages.ts";
import type { ServedContext } from "./served-context.ts";
import { measureWidthsOnce } from "./width-cache.ts";

export interface StepPlan {
  readonly backend: Backend;
  readonly partition: Partition;
  /** Of the last call. */
  readonly threads: () => number;
  /** What measuring took, and a call of the widest kind at least. */
  readonly probedMs: number;
}

/** With more threads than that, one more or less changes no plan. */
const coresMeasuredApart = 3;
/** Calls with all threads that take longer than with fewer, by so much, are kept waiting. */
const crowdedFactor = 1.5;

export interface StepPlanOptions {
  readonly load: LoadOptions;
  /** As opened with `threadsAtStart`. */
  readonly served: Pick<ServedContext, "backend" | "padRows" | "libraryVersion">;
  /** Milliseconds, monotonic. */
  readonly nowMs: () => number;
  /** Default: those that this process may use. */
  readonly cores?: number;
}

/** With how many threads a model is opened and first measured. */
export function threadsAtStart({ threads }: LoadOptions, cores = usableCores()): number {
  return threads ?? Math.max(1, cores - 1);
}

export function planSteps(options: StepPlanOptions): StepPlan {
  const { load, served, nowMs, cores = usableCores() } = options;
  const widthMax = widthMaxOf(served.backend, served.padRows);
  const startMs = nowMs();
  const measuring = new StepMeasuring(options);
  const few = threadsAtStart(load, cores);
  const planner = measuring.measure(few);
  const probed = () => Math.max(nowMs() - startMs, planner.costMs(widthMax) ?? 0);
  if (load.threads !== undefined) {
    const partition: Partition = (count) => planner.partition(count);
    return { backend: served.backend, partition, threads: () => few, probedMs: probed() };
  }
  const free = new FreeCores();
  free.get(startMs);
  const planners = new Map([[few, planner]]);
  const measuresAll = cores > few && cores <= coresMeasuredApart;
  if (measuresAll) planners.set(cores, measuring.measure(cores, planner));
  const start = measuresAll && measuring.isQuick(cores, few) ? cores : few;
  const governor = new ThreadGovernor({ cores, start });
  measuring.teach(governor);
  const { backend } = served;
  return {
    backend: new GovernedBackend({ backend, governor, nowMs, freeCores: () => free.get(nowMs()) }),
    partition: (count) => plannerFor(planners, governor.ceiling).partition(count),
    threads: () => governor.threads,
    probedMs: probed(),
  };
}

/** Of the most threads that are not too many, else of the fewest. */
function plannerFor(planners: ReadonlyMap<number, WidthPlanner>, ceiling: number): WidthPlanner {
  const counts = [...planners.keys()].sort((left, right) => left - right);
  const count = counts.findLast((threads) => threads <= ceiling) ?? counts[0];
  return planners.get(count as number) as WidthPlanner;
}

interface ThreadedCall extends MeasuredCall {
  readonly threads: number;
}

class StepMeasuring {
  readonly #options: StepPlanOptions;
  readonly #calls: ThreadedCall[] = [];

  constructor(options: StepPlanOptions) {
    this.#options = options;
  }

  /** What calls cost with at most so many threads; `fewer`: with fewer, as measured before. */
  measure(threads: number, fewer?: WidthPlanner): WidthPlanner {
    const { load, served, nowMs } = this.#options;
    const { backend, padRows, libraryVersion } = served;
    const widthMax = widthMaxOf(backend, padRows);
    const planner = new WidthPlanner(widthMax);
    for (const [width, costMs] of fewer?.measured() ?? []) planner.record(width, costMs);
    backend.setThreads(threads);
    const measuring = { backend, planner, padRows, widthMax, nowMs };
    const calls = measureWidthsOnce(load, { ...measuring, libraryVersion, threads });
    this.#calls.push(...calls.map((call) => ({ ...call, threads })));
    return planner;
  }

  /** Whether so many threads were kept waiting by nobody, by the widths measured with both. */
  isQuick(many: number, few: number): boolean {
    const leastMs = new Map<number, number>();
    for (const { width, elapsedMs } of this.#of(few)) {
      leastMs.set(width, Math.min(leastMs.get(width) ?? elapsedMs, elapsedMs));
    }
    const both = this.#of(many).filter(({ width }) => leastMs.has(width));
    const isQuick = ({ width, elapsedMs }: ThreadedCall) =>
      elapsedMs < crowdedFactor * (leastMs.get(width) ?? 0);
    return both.length > 0 && both.every(isQuick);
  }

  /** So that the governor knows from the first call on what is usual. */
  teach(governor: ThreadGovernor): void {
    for (const { rows, threads, elapsedMs } of this.#calls) {
      if (threads > governor.ceiling) continue;
      governor.learn(workOf(rows), threads, elapsedMs, this.#options.nowMs());
    }
  }

  #of(threads: number): readonly ThreadedCall[] {
    return this.#calls.filter((call) => call.threads === threads);
  }
}
