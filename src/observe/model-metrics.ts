/** What models that are loaded on demand tell, looked up when the metrics are scraped. */
import type { MetricMaker } from "./metric-maker.ts";

export interface ModelSample {
  readonly loaded: boolean;
  /** Requests that wait for it to be loaded. */
  readonly waiting: number;
  readonly loads: number;
  readonly failures: number;
  readonly unloads: number;
  readonly loadSeconds: number;
}

type Row = readonly [name: string, help: string, value: (sample: ModelSample) => number];

const gauges: readonly Row[] = [
  ["model_loaded", "1 while the model is in memory, else 0.", ({ loaded }) => Number(loaded)],
  ["model_waiting_requests", "Requests that wait for the model to be loaded.", (s) => s.waiting],
];

const counters: readonly Row[] = [
  ["model_loads_total", "Times that the model was loaded.", ({ loads }) => loads],
  ["model_load_failures_total", "Times that it could not be loaded.", (s) => s.failures],
  ["model_unloads_total", "Times that it was unloaded for others.", ({ unloads }) => unloads],
  ["model_load_seconds_total", "Time that its loads took.", ({ loadSeconds }) => loadSeconds],
];

export class ModelMetrics {
  readonly #models = new Map<string, () => ModelSample>();

  constructor(make: MetricMaker) {
    const read = (value: Row[2]) => () =>
      [...this.#models].map(([model, sample]) => ({ labels: { model }, value: value(sample()) }));
    for (const [name, help, value] of gauges) make.readGauge(name, help, ["model"], read(value));
    for (const [name, help, value] of counters) {
      make.readCounter(name, help, ["model"], read(value));
    }
  }

  watch(model: string, sample: () => ModelSample): void {
    this.#models.set(model, sample);
  }
}
