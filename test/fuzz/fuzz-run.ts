/** Sends cases to one server, several at a time, and collects what goes wrong. */
import { setTimeout as delay } from "node:timers/promises";
import { type ExchangeResult, exchange } from "./exchange.ts";
import { type FuzzCase, makeCase } from "./fuzz-case.ts";
import { enginePid, type Memory, readHealth, readMemory } from "./fuzz-server.ts";
import type { FuzzedServer } from "./fuzz-servers.ts";
import { auditLedger, type LedgerAudit } from "./ledger-audit.ts";
import { Random } from "./random.ts";
import { answerProblem, textOf } from "./verdict.ts";

export interface FuzzOptions {
  readonly server: FuzzedServer;
  readonly seed: number;
  /** Cases `first` to `first + count - 1` of the seed. */
  readonly first: number;
  readonly count: number;
  readonly concurrency: number;
  /** No new case starts after that. */
  readonly msMax: number;
  readonly onProgress?: (done: number) => void;
}

export interface Finding {
  readonly index: number;
  readonly problem: string;
  readonly fuzzCase: FuzzCase | undefined;
}

export interface FuzzReport {
  readonly sent: number;
  readonly requests: number;
  /** Answers by status; "none" for connections that gave none. */
  readonly statuses: ReadonlyMap<string, number>;
  readonly slowestMs: number;
  readonly slowestCase: number;
  /** After every tenth of the cases, and at the end; empty where the system does not show it. */
  readonly memory: readonly Memory[];
  readonly ledger: LedgerAudit;
  readonly findings: readonly Finding[];
}

/** Growth of a process between the first tenth of a run and its end, in MB. */
export const growthMegabytesMax = 250;
/** A sound request is sent after so many cases and must always get the same answer. */
const canaryEvery = 250;

export async function runFuzz(options: FuzzOptions): Promise<FuzzReport> {
  const run = new FuzzRun(options);
  return run.complete();
}

class FuzzRun {
  readonly #options: FuzzOptions;
  readonly #findings: Finding[] = [];
  readonly #statuses = new Map<string, number>();
  readonly #port: number;
  readonly #startMs = performance.now();
  #next = 0;
  #done = 0;
  #requests = 0;
  #slowestMs = 0;
  #slowestCase = -1;
  #canary: string | undefined;
  readonly #memory: Memory[] = [];
  readonly #answered = new Set<string>();
  #unanswered = 0;

  constructor(options: FuzzOptions) {
    this.#options = options;
    this.#port = Number(new URL(options.server.process.url).port);
  }

  async complete(): Promise<FuzzReport> {
    const { concurrency, server } = this.#options;
    const { process } = server;
    const engine = enginePid(process.process.pid ?? 0);
    await this.#sing();
    await Promise.all(Array.from({ length: concurrency }, () => this.#work()));
    await this.#sing();
    const settled = await settledMemory(process);
    if (settled !== undefined) this.#memory.push(settled);
    await this.#judgeServer(engine);
    const ledger = await auditLedger(server.settings, this.#answered, this.#unanswered);
    for (const problem of ledger.problems) this.#report(problem);
    return {
      sent: this.#done,
      requests: this.#requests,
      statuses: this.#statuses,
      slowestMs: this.#slowestMs,
      slowestCase: this.#slowestCase,
      memory: this.#memory,
      ledger,
      findings: this.#findings,
    };
  }

  async #work(): Promise<void> {
    const { count, first, msMax, server, onProgress } = this.#options;
    while (this.#next < count && performance.now() - this.#startMs < msMax) {
      if (hasEnded(server)) return;
      const index = first + this.#next;
      this.#next += 1;
      await this.#try(index);
      this.#done += 1;
      onProgress?.(this.#done);
      if (this.#done % Math.ceil(count / 10) === 0) this.#look();
      if (this.#done % canaryEvery === 0) await this.#sing();
    }
  }

  async #try(index: number): Promise<void> {
    const { seed, server } = this.#options;
    const fuzzCase = makeCase(new Random(seed, index), server.secret);
    const result = await exchange(this.#port, fuzzCase);
    const { answers, elapsedMs, problem } = result;
    this.#keep(fuzzCase, result);
    this.#requests += fuzzCase.requests.length;
    if (elapsedMs > this.#slowestMs) {
      this.#slowestMs = elapsedMs;
      this.#slowestCase = index;
    }
    if (answers.length === 0) this.#count("none");
    for (const answer of answers) this.#count(String(answer.status));
    const problems = answers.map((answer, place) =>
      answerProblem(answer, fuzzCase.requests[place]),
    );
    for (const found of [problem, ...problems]) {
      if (found !== undefined) this.#findings.push({ index, problem: found, fuzzCase });
    }
  }

  /** Which completions were answered, and how many requests were not. */
  #keep({ requests, delivery }: FuzzCase, { answers }: ExchangeResult): void {
    const sent = Math.max(requests.length, delivery.steps.length > 0 ? 1 : 0);
    this.#unanswered += Math.max(0, sent - answers.length);
    for (const answer of answers) {
      const id = answer.status === 200 && /"id":"(cmpl-\w+)"/.exec(textOf(answer) ?? "")?.[1];
      if (id) this.#answered.add(id);
    }
  }

  #look(): void {
    const memory = readMemory(this.#options.server.process);
    if (memory !== undefined) this.#memory.push(memory);
  }

  #count(status: string): void {
    this.#statuses.set(status, (this.#statuses.get(status) ?? 0) + 1);
  }

  /** The sound request: what it gives must not depend on all the others. */
  async #sing(): Promise<void> {
    const body = {
      prompt: "The river",
      max_tokens: 6,
      temperature: 0,
      logprobs: 2,
      ignore_eos: true,
    };
    try {
      const { process, secret } = this.#options.server;
      const key = secret === undefined ? {} : { authorization: `Bearer ${secret}` };
      const response = await fetch(`${process.url}/v1/completions`, {
        method: "POST",
        headers: { "content-type": "application/json", ...key },
        body: JSON.stringify(body),
      });
      const { id, choices } = (await response.json()) as { id?: string; choices?: unknown };
      if (id !== undefined) this.#answered.add(id);
      const song = `${response.status} ${JSON.stringify(choices)}`;
      this.#canary ??= song;
      if (song === this.#canary && response.status === 200) return;
      this.#report(`the sound request was answered otherwise: ${song}`);
    } catch (error) {
      this.#report(`the sound request failed: ${String(error)}`);
    }
  }

  async #judgeServer(engine: number | undefined): Promise<void> {
    const { server } = this.#options;
    if (hasEnded(server)) {
      this.#report("the server process ended");
      return;
    }
    const { status, restarts } = await readHealth(server.process);
    if (status !== "ok" || restarts !== 0) this.#report(`health: ${status}, restarts ${restarts}`);
    const { process } = server.process;
    if (enginePid(process.pid ?? 0) !== engine) this.#report("another engine process runs");
    const [before, after] = [this.#memory[0], this.#memory.at(-1)];
    if (before === undefined || after === undefined) return;
    for (const name of ["server", "engine"] as const) {
      const growth = after[name] - before[name];
      if (growth > growthMegabytesMax) this.#report(`the ${name} process grew by ${growth} MB`);
    }
  }

  #report(problem: string): void {
    this.#findings.push({ index: -1, problem, fuzzCase: undefined });
  }
}

function hasEnded({ process }: FuzzedServer): boolean {
  return process.process.exitCode !== null || process.process.signalCode !== null;
}

/** The least of a few looks: what a collection still frees is no growth. */
async function settledMemory(server: FuzzedServer["process"]): Promise<Memory | undefined> {
  let least = readMemory(server);
  for (let look = 0; look < 3 && least !== undefined; look += 1) {
    await delay(300);
    const seen = readMemory(server);
    if (seen === undefined) break;
    least = {
      server: Math.min(least.server, seen.server),
      engine: Math.min(least.engine, seen.engine),
    };
  }
  return least;
}
