/**
 * A histogram for what happens with every token. The library's own looks its labels up for each
 * value, about a microsecond; this one counts in plain arrays and is put into words when scraped.
 */
import { Histogram, type HistogramConfiguration } from "prom-client";

export interface TallyConfiguration<Label extends string> extends HistogramConfiguration<Label> {
  /** Upper bounds, rising. */
  readonly buckets: number[];
}

export class TallyHistogram<Label extends string> extends Histogram<Label> {
  readonly #configuration: TallyConfiguration<Label>;
  readonly #tallies: { readonly labels: Partial<Record<Label, string>>; readonly tally: Tally }[] =
    [];

  constructor(configuration: TallyConfiguration<Label>) {
    super(configuration);
    this.#configuration = configuration;
  }

  /** The tally of these labels, all zero. Call once for each combination. */
  tally(labels: Partial<Record<Label, string>>): Tally {
    const tally = new Tally(this.#configuration.buckets);
    this.#tallies.push({ labels, tally });
    return tally;
  }

  /** What the registry asks every metric of the library for, and puts into words. */
  async getForPromString() {
    const { name, help, buckets } = this.#configuration;
    const values = this.#tallies.flatMap(({ labels, tally }) => {
      const value = (end: string, value: number, own: object = {}) => ({
        metricName: `${name}_${end}`,
        labels: { ...labels, ...own },
        sharedLabels: {},
        value,
      });
      let below = 0;
      const lines = [...buckets, "+Inf"].map((le, index) => {
        below += tally.counts[index] ?? 0;
        return value("bucket", below, { le });
      });
      return [...lines, value("sum", tally.sum), value("count", below)];
    });
    return { name, help, type: "histogram", values };
  }
}

/** Values of one combination of labels. */
export class Tally {
  /** How many values lie in each bucket; the last is for all above the highest bound. */
  readonly counts: Float64Array;
  sum = 0;
  readonly #bounds: readonly number[];

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.counts = new Float64Array(bounds.length + 1);
  }

  observe(value: number): void {
    const bounds = this.#bounds;
    let index = 0;
    while (index < bounds.length && value > (bounds[index] as number)) index += 1;
    this.counts[index] = (this.counts[index] as number) + 1;
    this.sum += value;
  }
}
