/**
 * Keeps one engine process running: replaces it when it ends, waits longer after each of several
 * ends in a row, gives up for a while after too many, and tries again now and then or when the
 * model's files have changed.
 */
import { setTimeout as delay } from "node:timers/promises";
import { ApiError } from "../contract/errors.ts";
import { unlessAborted } from "../engine/unless-aborted.ts";
import type { EngineLog } from "./engine-child.ts";
import { type FaultKind, faultKinds, type ProcessEnd } from "./process-end.ts";

/** What the keeper has to know of a process. */
export interface KeptProcess {
  readonly pid: number | undefined;
  readonly ended: Promise<ProcessEnd>;
  /** Whether it has brought a job to its regular end. */
  readonly hasServed: boolean;
  /** Rejects with an Error of one sentence. */
  loaded(): Promise<unknown>;
  stop(): void;
}

export interface EngineState {
  readonly state: "ready" | "starting" | "failed";
  /** How often the process was started again. */
  readonly restarts: number;
  /** Why it had to be, by kind. */
  readonly faults: Readonly<Record<FaultKind, number>>;
  readonly pid: number | undefined;
  /** Why it failed. */
  readonly reason?: string;
  /** Why the process last had to be replaced: a sentence. */
  readonly lastFault?: string;
}

export interface KeeperTimes {
  /** A process that lived this long was healthy, whether or not it had work. */
  readonly healthyMs: number;
  readonly backoffMsMin: number;
  readonly backoffMsMax: number;
  /** After giving up: until the next try. */
  readonly retryMs: number;
  /** After giving up: between two looks at the model's files. */
  readonly fileCheckMs: number;
}

export const keeperTimes: KeeperTimes = {
  healthyMs: 60_000,
  backoffMsMin: 500,
  backoffMsMax: 30_000,
  retryMs: 120_000,
  fileCheckMs: 2_000,
};

/** Ends in a row, none after a healthy life, after which the model counts as failed. */
export const deathsMax = 5;

export interface KeeperOptions<Process extends KeptProcess> {
  readonly start: () => Process;
  /** Rejects when the model's files are not what they were. */
  readonly checkFiles: () => Promise<void>;
  readonly filesState: () => Promise<string>;
  /** Calls that may wait for a process that starts. */
  readonly waitingMax: number;
  readonly onEnded: (process: Process) => void;
  readonly log: EngineLog;
  readonly times?: KeeperTimes;
}

export class EngineKeeper<Process extends KeptProcess> {
  readonly #options: KeeperOptions<Process>;
  readonly #times: KeeperTimes;
  readonly #closing = new AbortController();
  readonly #faults = new Map<FaultKind, number>(faultKinds.map((kind) => [kind, 0]));
  #process: Process;
  #ready: Promise<Process>;
  #state: EngineState["state"] = "ready";
  #reason: string | undefined;
  #lastFault: string | undefined;
  #restarts = 0;
  /** Ends in a row. */
  #deaths = 0;
  #startedMs = performance.now();
  #waiting = 0;
  /** The files when the last start began. */
  #triedState = "";

  /** `process` has loaded its model. */
  constructor(options: KeeperOptions<Process>, process: Process) {
    this.#options = options;
    this.#times = options.times ?? keeperTimes;
    this.#process = process;
    this.#ready = Promise.resolve(process);
    this.#watch(process);
  }

  /** The one that runs or starts. */
  get process(): Process {
    return this.#process;
  }

  state(): EngineState {
    return {
      state: this.#state,
      restarts: this.#restarts,
      faults: Object.fromEntries(this.#faults) as Record<FaultKind, number>,
      pid: this.#process.pid,
      ...(this.#reason === undefined ? {} : { reason: this.#reason }),
      ...(this.#lastFault === undefined ? {} : { lastFault: this.#lastFault }),
    };
  }

  /**
   * The process, once it serves. Throws an ApiError when the model has failed, when too many wait
   * already or when the engine is closed; the signal's reason as soon as it is aborted.
   */
  async ready(signal: AbortSignal | undefined): Promise<Process> {
    if (this.#state === "ready") return this.#ready;
    if (this.#waiting >= this.#options.waitingMax) {
      const retryAfterMs = this.#times.backoffMsMin;
      throw new ApiError("overloaded", {}, { retry: { shouldRetry: true, retryAfterMs } });
    }
    this.#waiting += 1;
    try {
      return await (signal === undefined ? this.#ready : unlessAborted(this.#ready, signal));
    } finally {
      this.#waiting -= 1;
    }
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#process.stop();
    await this.#process.ended;
  }

  #watch(process: Process): void {
    void process.ended.then((end) => {
      this.#options.onEnded(process);
      if (this.#closing.signal.aborted) {
        this.#turnAway(new ApiError("shuttingDown"));
        return;
      }
      const healthy =
        process.hasServed || performance.now() - this.#startedMs > this.#times.healthyMs;
      if (healthy) this.#deaths = 0;
      this.#fault(end, "the engine process ended");
      this.#state = "starting";
      this.#wait(this.#restart(end.sentence));
    });
  }

  async #restart(how: string): Promise<Process> {
    let reason = how;
    while (this.#deaths <= deathsMax) {
      if (this.#deaths > 1) await this.#pause(this.#backoffMs());
      const process = await this.#start((problem) => {
        reason = problem;
      });
      if (process !== undefined) return process;
    }
    return this.#fail(reason);
  }

  /** One try. Undefined when it failed, which is then counted. */
  async #start(onProblem: (reason: string) => void): Promise<Process | undefined> {
    this.#triedState = await this.#options.filesState();
    this.#throwIfClosed();
    this.#restarts += 1;
    this.#startedMs = performance.now();
    let process: Process | undefined;
    try {
      process = this.#options.start();
      this.#process = process;
      // Both at once; what the engine says about a file is the better reason.
      const checking = this.#options.checkFiles();
      checking.catch(() => undefined);
      await process.loaded();
      await checking;
      this.#throwIfClosed();
      this.#serve(process);
      return process;
    } catch (error) {
      process?.stop();
      const end = await process?.ended;
      this.#throwIfClosed();
      const sentence = error instanceof Error ? error.message : String(error);
      onProblem(sentence);
      const kind = end?.kind === "hang" || end?.kind === "out_of_memory" ? end.kind : "start";
      this.#fault({ kind, sentence }, "the engine process could not be started");
      return undefined;
    }
  }

  #serve(process: Process): void {
    this.#state = "ready";
    this.#reason = undefined;
    this.#ready = Promise.resolve(process);
    this.#watch(process);
    this.#options.log.info({ restarts: this.#restarts }, "the engine process runs again");
  }

  /** From now on calls are turned away, until a later try succeeds. */
  #fail(reason: string): never {
    this.#state = "failed";
    this.#reason = reason;
    this.#options.log.error({ reason }, "the model has failed; it will be tried again");
    void this.#recover().catch((error: unknown) => this.#turnAway(error));
    throw modelFailed(reason);
  }

  async #recover(): Promise<void> {
    for (;;) {
      await this.#untilWorthATry();
      const process = await this.#start((problem) => {
        this.#reason = problem;
        this.#turnAway(modelFailed(problem));
      });
      if (process === undefined) continue;
      this.#deaths = 0;
      return;
    }
  }

  async #untilWorthATry(): Promise<void> {
    const { retryMs, fileCheckMs } = this.#times;
    for (let waitedMs = 0; waitedMs < retryMs; waitedMs += fileCheckMs) {
      await this.#pause(fileCheckMs);
      if ((await this.#options.filesState()) !== this.#triedState) return;
    }
  }

  #fault({ kind, sentence }: ProcessEnd, message: string): void {
    this.#deaths += 1;
    this.#faults.set(kind, (this.#faults.get(kind) ?? 0) + 1);
    this.#lastFault = sentence;
    this.#options.log.error({ kind, reason: sentence }, message);
  }

  #turnAway(error: unknown): void {
    this.#wait(Promise.reject(error));
  }

  /** Nobody may be there to hear of a rejection. */
  #wait(ready: Promise<Process>): void {
    ready.catch(() => undefined);
    this.#ready = ready;
  }

  async #pause(timeoutMs: number): Promise<void> {
    const { signal } = this.#closing;
    await delay(timeoutMs, undefined, { signal, ref: false }).catch(() => undefined);
    this.#throwIfClosed();
  }

  #throwIfClosed(): void {
    if (!this.#closing.signal.aborted) return;
    this.#process.stop();
    throw new ApiError("shuttingDown");
  }

  #backoffMs(): number {
    const { backoffMsMin, backoffMsMax } = this.#times;
    return Math.min(backoffMsMax, backoffMsMin * 2 ** (this.#deaths - 2));
  }
}

function modelFailed(reason: string): ApiError {
  // The message puts a full stop after it.
  const details = { reason: reason.replace(/\.$/, "") };
  return new ApiError("modelFailed", details, { retry: { shouldRetry: false } });
}
