/** Kills or stops the engine of one server again and again while requests run, and judges all. */
import { setTimeout as delay } from "node:timers/promises";
import { enginePid, type Memory, readMemory } from "../fuzz/fuzz-server.ts";
import { Random } from "../fuzz/random.ts";
import type { ServerProcess } from "../support/server-process.ts";
import { faultRequests, type Outcome, send, verdict } from "./fault-requests.ts";

export interface FaultRunOptions {
  readonly server: ServerProcess;
  /** SIGKILL: the process is gone. SIGSTOP: it is there and does nothing. */
  readonly signal: "SIGKILL" | "SIGSTOP";
  readonly times: number;
  readonly clients: number;
  readonly seed: number;
  /** In which every request must end. */
  readonly deadlineMs: number;
  readonly onProgress?: (done: number) => void;
}

export interface FaultReport {
  readonly outcomes: ReadonlyMap<Outcome["kind"], number>;
  /** From the fault to the next answer, of each fault that met a serving engine. */
  readonly recoveryMs: readonly number[];
  /** Faults that met a process that was loading. */
  readonly whileLoading: number;
  readonly slowestRequestMs: number;
  readonly restarts: number;
  readonly hangs: number;
  readonly memoryBefore: Memory | undefined;
  readonly memoryAfter: Memory | undefined;
  readonly findings: readonly string[];
}

export interface EngineHealth {
  readonly status: string;
  readonly restarts: number;
  readonly hangs: number;
  readonly reason?: string;
  readonly last_fault?: string;
}

/** Longest pause between a recovery and the next fault. */
const pauseMsMax = 1_500;
/** Share of faults that are followed by one that meets the new process while it loads. */
const loadingShare = 0.2;
const pollMs = 10;

export async function readHealth(url: string): Promise<EngineHealth> {
  return (await (await fetch(`${url}/health`)).json()) as EngineHealth;
}

export async function runFaults(options: FaultRunOptions): Promise<FaultReport> {
  return new FaultRun(options).complete();
}

class FaultRun {
  readonly #options: FaultRunOptions;
  readonly #random: Random;
  readonly #references = new Map<number, string>();
  readonly #outcomes = new Map<Outcome["kind"], number>();
  readonly #recoveryMs: number[] = [];
  readonly #findings: string[] = [];
  #whileLoading = 0;
  #slowestRequestMs = 0;
  #ended = false;

  constructor(options: FaultRunOptions) {
    this.#options = options;
    this.#random = new Random(options.seed);
  }

  async complete(): Promise<FaultReport> {
    const { server, clients, times, onProgress } = this.#options;
    await this.#askQuietly();
    const memoryBefore = readMemory(server);
    const before = await readHealth(server.url);
    const working = Array.from({ length: clients }, (_, client) => this.#work(client));
    while (this.#recoveryMs.length + this.#whileLoading < times) {
      await delay(this.#random.fraction() * pauseMsMax);
      await this.#strike();
      onProgress?.(this.#recoveryMs.length + this.#whileLoading);
    }
    this.#ended = true;
    await Promise.all(working);
    await this.#compareQuietly();
    const after = await readHealth(server.url);
    if (after.status !== "ok") this.#findings.push(`health: ${JSON.stringify(after)}`);
    return {
      outcomes: this.#outcomes,
      recoveryMs: this.#recoveryMs,
      whileLoading: this.#whileLoading,
      slowestRequestMs: this.#slowestRequestMs,
      restarts: after.restarts - before.restarts,
      hangs: after.hangs - before.hangs,
      memoryBefore,
      memoryAfter: readMemory(server),
      findings: this.#findings,
    };
  }

  async #askQuietly(): Promise<void> {
    for (const [index, request] of faultRequests.entries()) {
      const outcome = await this.#send(index);
      if (outcome.kind === "complete") this.#references.set(index, outcome.choices);
      else throw new Error(`a quiet server gave ${JSON.stringify(outcome)} to ${request.kind}`);
    }
  }

  /** What a server gives after all the faults is what it gave before them. */
  async #compareQuietly(): Promise<void> {
    for (const index of faultRequests.keys()) {
      const outcome = await this.#send(index);
      this.#judge(index, outcome);
      if (outcome.kind !== "complete") this.#findings.push(`afterwards: ${outcome.kind}`);
    }
  }

  async #work(client: number): Promise<void> {
    const random = new Random(this.#options.seed, client + 1);
    while (!this.#ended) {
      const index = random.integer(faultRequests.length);
      const outcome = await this.#send(index);
      this.#outcomes.set(outcome.kind, (this.#outcomes.get(outcome.kind) ?? 0) + 1);
      this.#judge(index, outcome);
    }
  }

  #judge(index: number, outcome: Outcome): void {
    const problem = verdict(outcome, this.#references.get(index) ?? "");
    if (problem !== undefined) this.#findings.push(`${faultRequests[index]?.kind}: ${problem}`);
  }

  async #send(index: number): Promise<Outcome> {
    const { server, deadlineMs } = this.#options;
    const request = faultRequests[index];
    if (request === undefined) throw new RangeError(`there is no request ${index}`);
    const startMs = performance.now();
    const outcome = await send(server.url, request, deadlineMs);
    this.#slowestRequestMs = Math.max(this.#slowestRequestMs, performance.now() - startMs);
    return outcome;
  }

  async #strike(): Promise<void> {
    const { server, times } = this.#options;
    const startMs = performance.now();
    const { restarts } = await readHealth(server.url);
    const hit = this.#hit(undefined);
    const isLast = this.#recoveryMs.length + this.#whileLoading + 1 >= times;
    if (!isLast && this.#random.chance(loadingShare)) await this.#hitLoading(hit);
    await this.#untilServed(restarts, startMs);
    this.#recoveryMs.push(performance.now() - startMs);
  }

  /** Only ever a child of the server that this test started. */
  #hit(not: number | undefined): number | undefined {
    const pid = enginePid(this.#options.server.process.pid ?? 0);
    if (pid === undefined || pid === not) return undefined;
    process.kill(pid, this.#options.signal);
    return pid;
  }

  async #hitLoading(earlier: number | undefined): Promise<void> {
    const untilMs = performance.now() + this.#options.deadlineMs;
    while (performance.now() < untilMs) {
      await delay(pollMs);
      // The one that was hit may still be there: stopped, or on its way out.
      if (this.#hit(earlier) === undefined) continue;
      this.#whileLoading += 1;
      return;
    }
    this.#findings.push("no other engine process came");
  }

  async #untilServed(restartsBefore: number, startMs: number): Promise<void> {
    const { server, deadlineMs } = this.#options;
    while (performance.now() - startMs < 2 * deadlineMs) {
      const { status, restarts } = await readHealth(server.url);
      if (status === "ok" && restarts > restartsBefore) {
        const body = { prompt: "a", max_tokens: 1 };
        const outcome = await send(server.url, { kind: "plain", body }, deadlineMs);
        if (outcome.kind === "complete") return;
      }
      await delay(pollMs);
    }
    this.#findings.push("the engine did not come back");
  }
}
