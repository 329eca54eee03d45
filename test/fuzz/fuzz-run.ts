/** Sends cases to one server, several at a time, and collects what goes wrong. */
import { setTimeout as delay } from "node:timers/promises";
import type { ServerProcess } from "../support/server-process.ts";
import { exchange } from "./exchange.ts";
import { type FuzzCase, makeCase } from "./fuzz-case.ts";
import { enginePid, type Memory, readHealth, readMemory } from "./fuzz-server.ts";
import { Random } from "./random.ts";
import { answerProblem } from "./verdict.ts";

export interface FuzzOptions {
  readonly server: ServerProcess;
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
  /** After the first tenth of the cases, and at the end. */
  readonly memoryBefore: Memory | undefined;
  readonly memoryAfter: Memory | undefined;
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
  #memoryBefore: Memory | undefined;

  constructor(options: FuzzOptions) {
    this.#options = options;
    this.#port = Number(new URL(options.server.url).port);
  }

  async complete(): Promise<FuzzReport> {
    const { server, concurrency } = this.#options;
    const engine = enginePid(server.process.pid ?? 0);
    await this.#sing();
    await Promise.all(Array.from({ length: concurrency }, () => this.#work()));
    await this.#sing();
    const memoryAfter = await settledMemory(server);
    await this.#judgeServer(engine, memoryAfter);
    return {
      sent: this.#done,
      requests: this.#requests,
      statuses: this.#statuses,
      slowestMs: this.#slowestMs,
      slowestCase: this.#slowestCase,
      memoryBefore: this.#memoryBefore,
      memoryAfter,
      findings: this.#findings,
    };
  }

  async #work(): Promise<void> {
    const { count, first, msMax, server, onProgress } = this.#options;
    while (this.#next < count && performance.now() - this.#startMs < msMax) {
      if (server.process.exitCode !== null || server.process.signalCode !== null) return;
      const index = first + this.#next;
      this.#next += 1;
      await this.#try(index);
      this.#done += 1;
      onProgress?.(this.#done);
      if (this.#done === Math.ceil(count / 10)) this.#memoryBefore = readMemory(server);
      if (this.#done % canaryEvery === 0) await this.#sing();
    }
  }

  async #try(index: number): Promise<void> {
    const fuzzCase = makeCase(new Random(this.#options.seed, index));
    const { answers, elapsedMs, problem } = await exchange(this.#port, fuzzCase);
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
      const response = await fetch(`${this.#options.server.url}/v1/completions`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      });
      const { choices } = (await response.json()) as { choices?: unknown };
      const song = `${response.status} ${JSON.stringify(choices)}`;
      this.#canary ??= song;
      if (song === this.#canary && response.status === 200) return;
      this.#report(`the sound request was answered otherwise: ${song}`);
    } catch (error) {
      this.#report(`the sound request failed: ${String(error)}`);
    }
  }

  async #judgeServer(engine: number | undefined, memory: Memory | undefined): Promise<void> {
    const { server } = this.#options;
    if (server.process.exitCode !== null || server.process.signalCode !== null) {
      this.#report("the server process ended");
      return;
    }
    const { status, restarts } = await readHealth(server);
    if (status !== "ok" || restarts !== 0) this.#report(`health: ${status}, restarts ${restarts}`);
    if (enginePid(server.process.pid ?? 0) !== engine) this.#report("another engine process runs");
    if (memory === undefined || this.#memoryBefore === undefined) return;
    for (const name of ["server", "engine"] as const) {
      const growth = memory[name] - this.#memoryBefore[name];
      if (growth > growthMegabytesMax) this.#report(`the ${name} process grew by ${growth} MB`);
    }
  }

  #report(problem: string): void {
    this.#findings.push({ index: -1, problem, fuzzCase: undefined });
  }
}

/** The least of a few looks: what a collection still frees is no growth. */
async function settledMemory(server: ServerProcess): Promise<Memory | undefined> {
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
