/** A client that behaves, while others do not: it has to be served all the time. */
import { setTimeout as delay } from "node:timers/promises";
import { ask, type Told } from "./asking.ts";
import { type Figure, tally, timesLine } from "./figures.ts";

const deadlineMs = 60_000;
const pauseMs = 100;

export class OtherClient {
  readonly #told: Told[] = [];
  readonly #working: Promise<void>;
  #ended = false;

  constructor(url: string) {
    this.#working = this.#work(url);
  }

  async end(): Promise<{
    readonly figures: readonly Figure[];
    readonly violations: readonly string[];
  }> {
    this.#ended = true;
    await this.#working;
    const told = this.#told;
    const times = told.map(({ sentMs, endedMs }) => endedMs - sentMs);
    return {
      figures: [
        ["others meanwhile", tally(told.map(({ end, status }) => `${end} ${status}`))],
        ["time of others' answers", timesLine(times)],
      ],
      violations: told
        .filter(({ end }) => end !== "whole")
        .map(({ end, status, error }) => `another client: ${end} ${status} ${error}`),
    };
  }

  async #work(url: string): Promise<void> {
    for (let sent = 0; !this.#ended; sent += 1) {
      const body = { prompt: "The river", max_tokens: 8, stream: sent % 2 === 0 };
      this.#told.push(await ask({ url, body, deadlineMs }));
      await delay(pauseMs);
    }
  }
}
