/** The machine's clock jumps forward and back while requests run. */
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { KeyLimits } from "../../src/access/key-limits.ts";
import { readHealth } from "../faults/fault-run.ts";
import { ask, type Told } from "./asking.ts";
import { type Figure, type ProofPart, tally } from "./figures.ts";
import type { ProofKey } from "./ledger-check.ts";
import { makeKeys, ProofClients } from "./proof-clients.ts";
import { newDatabase } from "./proof-database.ts";
import { ProofServer, tinyModelOptions } from "./proof-server.ts";
import { lookAndCheck } from "./server-kills.ts";

export interface ClockJumpOptions {
  /** Between two jumps. */
  readonly stepSeconds: number;
  readonly seed: number;
}

const hourMs = 3_600_000;
/** Always in another month. */
const monthMs = 31 * 24 * hourMs;
/** How far the clock is ahead, one after the other. */
const jumps = [0, hourMs, 0, -hourMs, 0, monthMs, 0, -monthMs, 0];
const perMinute = 60;
const monthRequests = 5;
const maxTokens = 7;
const cost = 3 + maxTokens;
const limits = {
  rate: { requestsPerMinute: perMinute },
  month: { tokensPerMonth: monthRequests * cost },
  free: {},
} as const satisfies Record<string, KeyLimits>;
const deadlineMs = 120_000;
const preload = fileURLToPath(new URL("./clock-preload.ts", import.meta.url));

export async function runClockJumps(options: ClockJumpOptions): Promise<readonly ProofPart[]> {
  const folder = mkdtempSync(join(tmpdir(), "completionist-clock-"));
  const database = await newDatabase("sqlite");
  const file = join(folder, "ahead");
  const setClock = (aheadMs: number) => {
    writeFileSync(`${file}.new`, String(aheadMs));
    renameSync(`${file}.new`, file);
  };
  setClock(0);
  const server = new ProofServer({
    options: [...tinyModelOptions, ...database.options],
    nodeOptions: ["--import", preload],
    env: { PROOF_CLOCK_FILE: file },
  });
  try {
    const keys = await makeKeys(database.settings, limits);
    const url = await server.start();
    // By the clock of the ledger a jump forward is time that passed: it is judged here by ours.
    const known = keys.map((key) => (key.name === "rate" ? { ...key, limits: {} } : key));
    const common = { seed: options.seed, clients: 0, deadlineMs, url: () => url };
    const clients = new ProofClients({ ...common, keys: known });
    const run = new ClockRun(url, keys, clients.told);
    const part = await run.complete(options.stepSeconds * 1000, setClock);
    const code = await server.stop();
    const ended = code === 0 ? [] : [`the server ended with ${code}`];
    const violations = [...part.violations, ...ended];
    return [{ ...part, violations }, await lookAndCheck(database, clients)];
  } finally {
    await server.kill();
    await database.remove();
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Step {
  readonly aheadMs: number;
  /** On the clock of `performance`. */
  readonly fromMs: number;
}

class ClockRun {
  readonly #url: string;
  readonly #keys: readonly ProofKey[];
  readonly #told: Told[];
  readonly #steps: Step[] = [];
  #ended = false;

  constructor(url: string, keys: readonly ProofKey[], told: Told[]) {
    this.#url = url;
    this.#keys = keys;
    this.#told = told;
  }

  async complete(stepMs: number, setClock: (aheadMs: number) => void): Promise<ProofPart> {
    // Through all jumps; and one whose time is over between two of them.
    const endless = { prompt: [1, 2, 3], max_tokens: 400, n: 128, stream: true, ignore_eos: true };
    const through = this.#ask("free", { ...endless, n: 32 });
    const working = ["rate", "month", "free"].map((name) => this.#hammer(name));
    const shortMs = stepMs * 2.5;
    const timed = this.#ask("free", endless, { "x-completionist-timeout": String(shortMs / 1000) });
    for (const aheadMs of jumps) {
      setClock(aheadMs);
      this.#steps.push({ aheadMs, fromMs: performance.now() });
      await delay(stepMs);
    }
    this.#ended = true;
    await Promise.all(working);
    const [whole, cut] = [await through, await timed];
    const { restarts, hangs } = await readHealth(this.#url);
    const violations = [...this.#rateViolations(), ...this.#monthViolations()];
    if (whole.end !== "whole") violations.push(`a stream through the jumps: ${whole.end}`);
    const cutMs = cut.endedMs - cut.sentMs;
    const isInTime = cut.end === "error" ? cut.error === "deadline_exceeded" : cut.status === 504;
    if (cut.end !== "whole" && (!isInTime || cutMs < shortMs * 0.9)) {
      violations.push(`a deadline of ${shortMs} ms: ${cut.end} ${cut.error} after ${cutMs} ms`);
    }
    if (restarts + hangs > 0) violations.push(`the engine was started ${restarts} times again`);
    const free = this.#of("free").filter(({ end }) => end !== "whole" && end !== "error");
    violations.push(...free.map(({ end, status }) => `a key without limits: ${end} ${status}`));
    const figures: Figure[] = [
      ["let in by the limit per minute", this.#perStep("rate")],
      ["let in by the quota of a month", this.#perStep("month")],
      ["without limits", tally(this.#of("free").map(({ end }) => end))],
      ["a stream through the jumps", `${whole.end}, ${seconds(whole)}`],
      [`a deadline of ${shortMs / 1000} s`, `${cut.end} ${cut.error ?? ""}, ${seconds(cut)}`],
      ["engine restarts, hangs", `${restarts}, ${hangs}`],
    ];
    const hours = jumps.map((aheadMs) => aheadMs / hourMs).join(", ");
    return { title: `clock ahead by ${hours} hours, ${stepMs / 1000} s each`, figures, violations };
  }

  async #hammer(name: string): Promise<void> {
    while (!this.#ended) {
      await this.#ask(name, { prompt: [1, 2, 3], max_tokens: maxTokens, ignore_eos: true });
      await delay(20);
    }
  }

  async #ask(name: string, body: object, headers: Readonly<Record<string, string>> = {}) {
    const { id, secret } = this.#keyOf(name);
    const asking = { url: this.#url, keyId: id, secret, body: { ...body }, headers, deadlineMs };
    const told = await ask(asking);
    this.#told.push(told);
    return told;
  }

  #keyOf(name: string): ProofKey {
    const key = this.#keys.find((candidate) => candidate.name === name);
    if (key === undefined) throw new RangeError(`there is no key ${name}`);
    return key;
  }

  #of(name: string): readonly Told[] {
    const { id } = this.#keyOf(name);
    return this.#told.filter(({ keyId }) => keyId === id);
  }

  /** Answers of each step, by when they were asked for. */
  #letIn(name: string): readonly number[] {
    const counts = this.#steps.map(() => 0);
    for (const { end, sentMs } of this.#of(name)) {
      if (end !== "whole") continue;
      // The first of all are asked for before the first step is written down.
      const place = Math.max(
        0,
        this.#steps.findLastIndex(({ fromMs }) => fromMs <= sentMs),
      );
      counts[place] = (counts[place] ?? 0) + 1;
    }
    return counts;
  }

  #perStep(name: string): string {
    return this.#letIn(name).join(", ");
  }

  /** A jump forward may empty the bucket; nothing else gives more than the time that passed. */
  #rateViolations(): string[] {
    const found: string[] = [];
    const counts = this.#letIn("rate");
    const startMs = this.#steps[0]?.fromMs ?? 0;
    let sum = 0;
    let fresh = perMinute;
    for (const [place, count] of counts.entries()) {
      const before = this.#steps[place - 1]?.aheadMs ?? 0;
      if ((this.#steps[place]?.aheadMs ?? 0) > before) fresh += perMinute;
      sum += count;
      const endMs = this.#steps[place + 1]?.fromMs ?? performance.now();
      const most = fresh + 1 + (perMinute * (endMs - startMs)) / 60_000;
      if (sum > most)
        found.push(`a limit per minute opened in step ${place}: ${counts.join(", ")}`);
      if (count === 0) found.push(`a limit per minute blocked in step ${place}`);
    }
    return found;
  }

  /** Each month that the clock was in has its own quota, and all of it. */
  #monthViolations(): string[] {
    const months = new Set(
      this.#steps.map(({ aheadMs }) => new Date(Date.now() + aheadMs).toISOString().slice(0, 7)),
    );
    const counts = this.#letIn("month");
    const sum = counts.reduce((left, right) => left + right, 0);
    const due = months.size * monthRequests;
    return sum === due ? [] : [`a quota let in ${counts.join(", ")}, not ${due} in all`];
  }
}

const seconds = ({ sentMs, endedMs }: Told) => `${((endedMs - sentMs) / 1000).toFixed(1)} s`;
