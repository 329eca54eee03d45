/** The metrics of one server, for Prometheus. Each server has its own: nothing is shared. */
import { Registry } from "prom-client";
import { AccessMetrics } from "./access-metrics.ts";
import { CompletionMetrics } from "./completion-metrics.ts";
import { EngineMetrics, type EngineSample } from "./engine-metrics.ts";
import { MetricMaker } from "./metric-maker.ts";
import { ModelMetrics, type ModelSample } from "./model-metrics.ts";
import { addProcessMetrics } from "./process-metrics.ts";
import { RequestMetrics } from "./request-metrics.ts";

export interface MetricsOptions {
  /** Of the program. */
  readonly version?: string;
  /** Milliseconds, monotonic. */
  readonly nowMs?: () => number;
}

export class Metrics {
  readonly requests: RequestMetrics;
  readonly completions: CompletionMetrics;
  readonly access: AccessMetrics;
  readonly #engines: EngineMetrics;
  readonly #models: ModelMetrics;
  readonly #registry = new Registry();

  constructor({ version = "0.0.0", nowMs = () => performance.now() }: MetricsOptions = {}) {
    const make = new MetricMaker(this.#registry);
    this.requests = new RequestMetrics(make, nowMs);
    this.completions = new CompletionMetrics(make, nowMs);
    this.access = new AccessMetrics(make);
    this.#engines = new EngineMetrics(make);
    this.#models = new ModelMetrics(make);
    addProcessMetrics(make, version);
  }

  /** Looks at the model's engine at every scrape. */
  watchEngine(model: string, sample: () => EngineSample): void {
    this.completions.addModel(model);
    this.#engines.watch(model, sample);
  }

  /** Looks at the model's loads at every scrape. */
  watchModel(model: string, sample: () => ModelSample): void {
    this.#models.watch(model, sample);
  }

  /** Everything in Prometheus' text format. */
  text(): Promise<string> {
    this.#engines.look();
    return this.#registry.metrics();
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** The name, kind and labels of each metric. */
  list(): readonly MetricDescription[] {
    return this.#registry.getMetricsAsArray().map((metric) => {
      // The labels are there, though not in the library's types.
      const { labelNames = [] } = metric as { readonly labelNames?: readonly string[] };
      return { name: metric.name, type: String(metric.type), labels: labelNames };
    });
  }
}

export interface MetricDescription {
  readonly name: string;
  /** `counter`, `gauge` or `histogram`. */
  readonly type: string;
  readonly labels: readonly string[];
}
