/** What is measured of completions, by model: how long clients wait, and the tokens they use. */
import type { Counter } from "prom-client";
import type { Usage } from "../contract/responses.ts";
import type { MetricMaker } from "./metric-maker.ts";

/** Seconds. A first token takes a prompt's reading, and the wait for a slot before that. */
const waitBuckets = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];
/** Seconds. One step of a small model takes 5 ms, of a large one on processors half a second. */
const gapBuckets = [0.0025, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.2, 0.5, 1, 2.5, 10];

interface Observer {
  observe(value: number): void;
}
interface Adder {
  inc(value: number): void;
}

/** The metrics of one model, found once, so that a token costs no lookup of labels. */
interface ModelMeters {
  readonly queue: Observer;
  readonly firstToken: Observer;
  readonly gap: Observer;
  readonly promptTokens: Adder;
  readonly cachedTokens: Adder;
  readonly completionTokens: Adder;
}

const outcomes = ["completed", "failed", "cancelled"] as const;

export class CompletionMetrics {
  readonly #ends: Counter<"model" | "outcome">;
  readonly #nowMs: () => number;
  readonly #newMeters: (model: string) => ModelMeters;
  readonly #byModel = new Map<string, ModelMeters>();

  constructor(make: MetricMaker, nowMs: () => number) {
    this.#nowMs = nowMs;
    this.#newMeters = defineMeters(make);
    const ends = "Completions that were handed to the model, by how they ended.";
    this.#ends = make.counter("completions_total", ends, ["model", "outcome"]);
  }

  /** Shows the model's metrics before its first request. `model` is no alias: names are few. */
  addModel(model: string): void {
    this.#metersOf(model);
    for (const outcome of outcomes) this.#ends.inc({ model, outcome }, 0);
  }

  /** A completion ended: it was whole, it failed, or its client left. */
  ended(model: string, outcome: string): void {
    this.#ends.inc({ model, outcome });
  }

  /** A completion is handed to the model; its request was seen at `seenMs` on the same clock. */
  begin(model: string, seenMs: number): CompletionMeter {
    return new CompletionMeter(this.#metersOf(model), seenMs, this.#nowMs);
  }

  #metersOf(model: string): ModelMeters {
    const meters = this.#byModel.get(model) ?? this.#newMeters(model);
    this.#byModel.set(model, meters);
    return meters;
  }
}

/** Defines the metrics; the result gives those of one model, all zero. */
function defineMeters(make: MetricMaker): (model: string) => ModelMeters {
  const by = ["model"] as const;
  const help = {
    queue: "Time that a completion waits for a slot.",
    firstToken: "Time from a request's header to the first text of its answer.",
    gap: "Time between two tokens of a choice, or two characters where these need several.",
    promptTokens: "Prompt tokens, as usage tells them.",
    cachedTokens: "Prompt tokens that the prefix cache spared, as usage tells them.",
    completionTokens: "Generated tokens, as usage tells them.",
  };
  const queue = make.histogram("queue_seconds", help.queue, by, waitBuckets);
  const firstToken = make.histogram(
    "time_to_first_token_seconds",
    help.firstToken,
    by,
    waitBuckets,
  );
  const gap = make.tallyHistogram("token_gap_seconds", help.gap, by, gapBuckets);
  const promptTokens = make.counter("prompt_tokens_total", help.promptTokens, by);
  const cachedTokens = make.counter("cached_prompt_tokens_total", help.cachedTokens, by);
  const completionTokens = make.counter("completion_tokens_total", help.completionTokens, by);
  return (model) => {
    for (const histogram of [queue, firstToken]) histogram.zero({ model });
    for (const counter of [promptTokens, cachedTokens, completionTokens]) counter.inc({ model }, 0);
    return {
      queue: queue.labels({ model }),
      firstToken: firstToken.labels({ model }),
      gap: gap.tally({ model }),
      promptTokens: promptTokens.labels({ model }),
      cachedTokens: cachedTokens.labels({ model }),
      completionTokens: completionTokens.labels({ model }),
    };
  };
}

/** One completion, as its parts go by. */
export class CompletionMeter {
  readonly #meters: ModelMeters;
  readonly #seenMs: number;
  readonly #nowMs: () => number;
  readonly #startMs: number;
  #begun = false;
  /** Of each choice, when its last text came and what was used then. */
  readonly #lastMs: number[] = [];
  readonly #lastTokens: number[] = [];
  #usage: Usage | undefined;

  constructor(meters: ModelMeters, seenMs: number, nowMs: () => number) {
    this.#meters = meters;
    this.#seenMs = seenMs;
    this.#nowMs = nowMs;
    this.#startMs = nowMs();
  }

  admitted(): void {
    this.#meters.queue.observe((this.#nowMs() - this.#startMs) / 1000);
  }

  /** A piece of a choice's text, and what all choices have used so far. */
  text(choice: number, usage: Usage): void {
    const now = this.#nowMs();
    if (!this.#begun) this.#meters.firstToken.observe((now - this.#seenMs) / 1000);
    this.#begun = true;
    const [lastMs, lastTokens = 0] = [this.#lastMs[choice], this.#lastTokens[choice]];
    // Tokens counted long before are an answer chosen from several: they come all at once.
    if (lastMs !== undefined && usage.completion_tokens > lastTokens) {
      this.#meters.gap.observe((now - lastMs) / 1000);
    }
    this.#lastMs[choice] = now;
    this.#lastTokens[choice] = usage.completion_tokens;
    this.#usage = usage;
  }

  /** What was used so far. */
  used(usage: Usage): void {
    this.#usage = usage;
  }

  /** Called once, also for a completion that failed or was left: it used what it used. */
  end(): void {
    if (this.#usage === undefined) return;
    const { prompt_tokens, completion_tokens, prompt_tokens_details } = this.#usage;
    this.#meters.promptTokens.inc(prompt_tokens);
    this.#meters.cachedTokens.inc(prompt_tokens_details.cached_tokens);
    this.#meters.completionTokens.inc(completion_tokens);
  }
}
