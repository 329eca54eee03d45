/** What limits and the usage ledger do: refusals, and how far the ledger is behind. */
import type { MetricMaker } from "./metric-maker.ts";

/** The state of the ledger at a scrape. */
export interface LedgerSample {
  /** Whether the last write went through. */
  readonly writable: boolean;
  /** Age of the oldest write that is not durable yet. */
  readonly lagMs: number;
  readonly pendingWrites: number;
}

/** What a key can run out of. */
const limitNames = ["requests", "tokens", "quota"] as const;
const otherLimit = "other";

export class AccessMetrics {
  readonly #refusals;
  #ledger: (() => LedgerSample) | undefined;

  constructor(make: MetricMaker) {
    const refusals = "Requests that were refused because their key had no more left, by limit.";
    this.#refusals = make.counter("limit_refusals_total", refusals, ["limit"]);
    for (const limit of limitNames) this.#refusals.inc({ limit }, 0);
    const gauges = [
      ["ledger_writable", "1 while the usage ledger can be written, else 0.", isWritable],
      ["ledger_lag_seconds", "Age of the oldest row that is not durable yet.", lagSeconds],
      ["ledger_pending_writes", "Rows that are not durable yet.", pendingWrites],
    ] as const;
    for (const [name, help, value] of gauges) {
      make.readGauge(name, help, [], () => {
        const sample = this.#ledger?.();
        return sample === undefined ? [] : [{ labels: {}, value: value(sample) }];
      });
    }
  }

  /** Looks at the ledger at every scrape; without one its gauges have no values. */
  watchLedger(sample: () => LedgerSample): void {
    this.#ledger = sample;
  }

  /** A request was refused. `limit`: `requests`, `tokens` or `quota`. */
  refused(limit: string): void {
    const known = limitNames.find((name) => name === limit);
    this.#refusals.inc({ limit: known ?? otherLimit });
  }
}

const isWritable = ({ writable }: LedgerSample): number => Number(writable);
const lagSeconds = ({ lagMs }: LedgerSample): number => lagMs / 1000;
const pendingWrites = (sample: LedgerSample): number => sample.pendingWrites;
