/** What engines tell about themselves, looked up when the metrics are scraped. */
import type { EngineStats } from "./engine-stats.ts";
import type { MetricMaker } from "./metric-maker.ts";

export interface EngineSample {
  readonly stats: EngineStats;
  /** Whether it can answer now. */
  readonly up: boolean;
  readonly restarts: number;
  /** Why its process had to be replaced, by kind. */
  readonly faults: Readonly<Record<string, number>>;
}

type Value = (sample: EngineSample) => number;

const gauges: readonly (readonly [name: string, help: string, value: Value])[] = [
  ["engine_up", "1 while the engine can answer, else 0.", ({ up }) => Number(up)],
  ["engine_queued_jobs", "Prompts that wait for a slot.", ({ stats }) => stats.queuedJobs],
  [
    "engine_running_candidates",
    "Texts that are being generated.",
    ({ stats }) => stats.runningCandidates,
  ],
  ["engine_busy_slots", "Slots in use.", ({ stats }) => stats.busySlots],
  ["engine_slots", "Slots that there are.", ({ stats }) => stats.slots],
  ["engine_kv_tokens", "Tokens in the key-value cache.", ({ stats }) => stats.heldTokens],
  [
    "engine_kv_idle_tokens",
    "Tokens in the key-value cache that only wait for prompts that begin alike.",
    ({ stats }) => stats.idleTokens,
  ],
  [
    "engine_kv_capacity_tokens",
    "Tokens that the key-value cache can hold.",
    ({ stats }) => stats.capacityTokens,
  ],
  ["engine_threads", "Threads that the engine last computed with.", ({ stats }) => stats.threads],
  [
    "engine_resident_memory_bytes",
    "Memory of the engine's process, the model file's pages included.",
    ({ stats }) => stats.residentBytes,
  ],
];

const counters: typeof gauges = [
  ["engine_restarts_total", "Starts of the engine's process after the first.", (s) => s.restarts],
  [
    "engine_read_tokens_total",
    "Prompt tokens that the engine computed.",
    ({ stats }) => stats.counts.readTokens,
  ],
  [
    "engine_cached_tokens_total",
    "Prompt tokens that the prefix cache spared the engine.",
    ({ stats }) => stats.counts.cachedTokens,
  ],
  [
    "engine_generated_tokens_total",
    "Tokens that the engine generated, also for answers that nobody got.",
    ({ stats }) => stats.counts.generatedTokens,
  ],
  [
    "engine_cpu_seconds_total",
    "Processor time of the engine's process.",
    ({ stats }) => stats.counts.cpuSeconds,
  ],
];

export class EngineMetrics {
  readonly #engines = new Map<string, () => EngineSample>();
  /** One look at all engines serves all metrics of a scrape. */
  #samples: readonly (readonly [model: string, sample: EngineSample])[] = [];

  constructor(make: MetricMaker) {
    const read = (value: Value) => () =>
      this.#samples.map(([model, sample]) => ({ labels: { model }, value: value(sample) }));
    for (const [name, help, value] of gauges) make.readGauge(name, help, ["model"], read(value));
    for (const [name, help, value] of counters) {
      make.readCounter(name, help, ["model"], read(value));
    }
    make.readCounter(
      "engine_faults_total",
      "Ends of the engine's process that nobody asked for, and starts that failed.",
      ["model", "kind"],
      () =>
        this.#samples.flatMap(([model, { faults }]) =>
          Object.entries(faults).map(([kind, value]) => ({ labels: { model, kind }, value })),
        ),
    );
  }

  watch(model: string, sample: () => EngineSample): void {
    this.#engines.set(model, sample);
  }

  /** Called before a scrape. */
  look(): void {
    this.#samples = [...this.#engines].map(([model, sample]) => [model, sample()]);
  }
}
