/** Makes metrics in one registry, all with the same prefix. Values of labels must be few and known. */
import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import { TallyHistogram } from "./tally-histogram.ts";

export const metricPrefix = "completionist_";

/** What may be read at every scrape: values by label, anew each time. */
export type Reading<Label extends string> = readonly {
  readonly labels: Readonly<Record<Label, string>>;
  readonly value: number;
}[];

export class MetricMaker {
  readonly #registry: Registry;

  constructor(registry: Registry) {
    this.#registry = registry;
  }

  counter<Label extends string>(name: string, help: string, labels: readonly Label[]) {
    return new Counter<Label>(this.#describe(name, help, labels));
  }

  gauge<Label extends string>(name: string, help: string, labels: readonly Label[]) {
    return new Gauge<Label>(this.#describe(name, help, labels));
  }

  /** `buckets` are upper bounds, rising, without the last one, which is infinite. */
  histogram<Label extends string>(
    name: string,
    help: string,
    labels: readonly Label[],
    buckets: readonly number[],
  ) {
    return new Histogram<Label>({ ...this.#describe(name, help, labels), buckets: [...buckets] });
  }

  /** A histogram for what happens with every token. */
  tallyHistogram<Label extends string>(
    name: string,
    help: string,
    labels: readonly Label[],
    buckets: readonly number[],
  ) {
    const description = this.#describe(name, help, labels);
    return new TallyHistogram<Label>({ ...description, buckets: [...buckets] });
  }

  /** A gauge whose values are looked up when it is scraped. */
  readGauge<Label extends string>(
    name: string,
    help: string,
    labels: readonly Label[],
    read: () => Reading<Label>,
  ): void {
    new Gauge<Label>({
      ...this.#describe(name, help, labels),
      collect() {
        this.reset();
        for (const { labels, value } of read()) this.set(labels, value);
      },
    });
  }

  /** A counter that is kept elsewhere and looked up when it is scraped. */
  readCounter<Label extends string>(
    name: string,
    help: string,
    labels: readonly Label[],
    read: () => Reading<Label>,
  ): void {
    new Counter<Label>({
      ...this.#describe(name, help, labels),
      collect() {
        this.reset();
        for (const { labels, value } of read()) this.inc(labels, value);
      },
    });
  }

  #describe<Label extends string>(name: string, help: string, labels: readonly Label[]) {
    const [labelNames, registers] = [[...labels], [this.#registry]];
    return { name: `${metricPrefix}${name}`, help, labelNames, registers };
  }
}
