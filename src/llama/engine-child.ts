/**
 * The server's side of one engine process: sends requests, hands events to the jobs they belong
 * to, and fails everything that is open when the process ends.
 */
import { type ChildProcess, fork } from "node:child_process";
import { createInterface } from "node:readline";
import type { Logger } from "pino";
import { ApiError } from "../contract/errors.ts";
import type { EngineEvent, Job, TokenizeOptions } from "../engine/engine.ts";
import type { EngineStats } from "../observe/engine-stats.ts";
import { childEntry } from "./child-entry.ts";
import { EventQueue } from "./event-queue.ts";
import type { FromEngine, JobEvent, LoadedModel, LoadOptions, ToEngine } from "./messages.ts";
import { explainRefusal } from "./model.ts";
import { processActivity } from "./process-activity.ts";
import { outOfMemoryKills, type ProcessEnd, processEnd } from "./process-end.ts";
import { Watchdog } from "./watchdog.ts";
import type { WatchdogLimits } from "./watchdog-limits.ts";

export type EngineLog = Pick<Logger, "debug" | "info" | "warn" | "error">;

const telling = /error|assert|abort|terminate|out of memory/i;
/** Lines of the library's log that are kept to explain a failure. */
const logLinesKept = 40;
/** A process that a killing signal has not ended by then waits for a device and may never end. */
const killMsMax = 10_000;

interface Waiting<T> {
  readonly resolve: (value: T) => void;
  readonly reject: (error: unknown) => void;
}

export interface EngineChildOptions {
  readonly load: LoadOptions;
  readonly limits: WatchdogLimits;
  readonly log: EngineLog;
  /** Starts the process; for tests. */
  readonly startProcess?: (() => ChildProcess) | undefined;
}

export class EngineChild {
  /** Undefined when the system could not start it. */
  readonly #process: ChildProcess | undefined;
  readonly #log: EngineLog;
  readonly #modelPath: string;
  readonly #watchdog: Watchdog;
  readonly #memoryKills = outOfMemoryKills();
  readonly #jobs = new Map<number, EventQueue<EngineEvent>>();
  readonly #tokenizing = new Map<number, Waiting<readonly number[]>>();
  readonly #logLines: string[] = [];
  readonly #loaded = Promise.withResolvers<LoadedModel>();
  readonly #ended = Promise.withResolvers<ProcessEnd>();
  #loadFailure: string | undefined;
  #hung: string | undefined;
  #stats: EngineStats | undefined;
  #nextId = 0;
  #alive = true;
  #hasServed = false;

  constructor({ load, limits, log, startProcess = forkEngine }: EngineChildOptions) {
    this.#log = log;
    this.#modelPath = load.modelPath;
    this.#loaded.promise.catch(() => {});
    this.#watchdog = new Watchdog({
      limits,
      hasWork: () => this.#jobs.size + this.#tokenizing.size > 0,
      ask: () => this.#send({ kind: "ask" }),
      activity: () => (this.pid === undefined ? undefined : processActivity(this.pid)),
      onHung: (how) => this.#replaceHung(how),
    });
    try {
      this.#process = startProcess();
    } catch (error) {
      this.#notStarted(error);
      return;
    }
    this.#listen(this.#process);
    this.#send({ kind: "load", options: load });
  }

  /** Resolves when the process is gone. */
  get ended(): Promise<ProcessEnd> {
    return this.#ended.promise;
  }

  get alive(): boolean {
    return this.#alive;
  }

  get pid(): number | undefined {
    return this.#process?.pid;
  }

  /** Whether it has brought a job to its regular end. */
  get hasServed(): boolean {
    return this.#hasServed;
  }

  /** The last report, up to a quarter of a second old; undefined before the first. */
  get stats(): EngineStats | undefined {
    return this.#stats;
  }

  /** Rejects with an Error of one clear sentence when the model cannot be served. */
  loaded(): Promise<LoadedModel> {
    return this.#loaded.promise;
  }

  tokenize(text: string, options: TokenizeOptions): Promise<readonly number[]> {
    if (!this.#alive) return Promise.reject(processEnded());
    const request = this.#nextId++;
    const waiting = Promise.withResolvers<readonly number[]>();
    this.#tokenizing.set(request, waiting);
    this.#send({ kind: "tokenize", request, text, ...options });
    return waiting.promise;
  }

  async *run(job: Job, signal: AbortSignal): AsyncGenerator<EngineEvent> {
    signal.throwIfAborted();
    if (!this.#alive) throw processEnded();
    const id = this.#nextId++;
    const queue = new EventQueue<EngineEvent>();
    const onAbort = () => queue.fail(signal.reason);
    this.#jobs.set(id, queue);
    signal.addEventListener("abort", onAbort, { once: true });
    this.#send({ kind: "run", id, job });
    try {
      yield* queue;
    } finally {
      signal.removeEventListener("abort", onAbort);
      // Still there: the reader left or the signal came, so the engine has to be told.
      if (this.#jobs.delete(id)) this.#send({ kind: "abort", id });
    }
  }

  /** Ends it at once, in mid-step and even when it is stopped. */
  stop(): void {
    if (!this.#alive) return;
    this.#process?.kill("SIGKILL");
    setTimeout(() => this.#end(null, "SIGKILL"), killMsMax).unref();
  }

  #replaceHung(how: string): void {
    this.#hung = how;
    this.stop();
  }

  #listen(child: ChildProcess): void {
    child.on("message", (message) => this.#receive(message as FromEngine));
    child.on("error", (error) => {
      if (child.pid === undefined) this.#notStarted(error);
      else this.#log.error({ err: error }, "engine process");
    });
    child.on("close", (code, signal) => this.#end(code, signal));
    // The library logs to stderr; lines without JavaScript callbacks cannot deadlock its threads.
    for (const stream of [child.stdout, child.stderr]) {
      if (stream) createInterface({ input: stream }).on("line", (line) => this.#logLine(line));
    }
  }

  #send(message: ToEngine): void {
    if (this.#process?.connected !== true) return; // the end follows and fails what is open
    this.#process.send(message, (error) => {
      if (error !== null) this.#log.debug({ err: error }, "engine process is gone");
    });
  }

  #receive(message: FromEngine): void {
    this.#watchdog.heard();
    if (message.kind === "alive") return;
    if (message.kind === "events") for (const event of message.events) this.#jobEvent(event);
    else if (message.kind === "stats") this.#stats = message.stats;
    else if (message.kind === "loaded") {
      this.#watchdog.loaded(message.model.probedMs);
      this.#loaded.resolve(message.model);
    } else if (message.kind === "loadFailed") {
      this.#loadFailure = message.message;
    } else {
      const waiting = this.#tokenizing.get(message.request);
      this.#tokenizing.delete(message.request);
      if (message.kind === "tokens") waiting?.resolve(message.tokens);
      else waiting?.reject(new ApiError("server", {}, { cause: message.message }));
    }
  }

  #jobEvent(message: JobEvent): void {
    const queue = this.#jobs.get(message.id);
    if (queue === undefined) return; // aborted: what was under way is dropped
    if ("event" in message) {
      if (!queue.push(message.event)) this.#giveUp(message.id, queue);
      return;
    }
    this.#jobs.delete(message.id);
    if ("ended" in message) {
      this.#hasServed = true;
      queue.finish();
    } else queue.fail(new ApiError(message.refused, {}, { retry: message.retry }));
  }

  /** Its reader is so slow that what waits for it would fill the memory. */
  #giveUp(id: number, queue: EventQueue<EngineEvent>): void {
    this.#jobs.delete(id);
    this.#send({ kind: "abort", id });
    queue.fail(new ApiError("overloaded", {}, { retry: { shouldRetry: true } }));
  }

  #end(code: number | null, signal: NodeJS.Signals | null): void {
    // A stack trace ends with less telling lines than it begins with.
    const said = this.#logLines.findLast((line) => telling.test(line));
    const memoryKills = [this.#memoryKills, outOfMemoryKills()] as const;
    this.#finish(processEnd({ code, signal, hung: this.#hung, memoryKills, said }));
  }

  #notStarted(error: unknown): void {
    const reason = error instanceof Error ? error.message : String(error);
    const sentence = `The system could not start the engine process: ${reason}.`;
    this.#finish({ kind: "start", sentence });
  }

  #finish(end: ProcessEnd): void {
    if (!this.#alive) return;
    this.#alive = false;
    this.#watchdog.stop();
    this.#loaded.reject(new Error(this.#explainLoadFailure() ?? end.sentence));
    for (const queue of this.#jobs.values()) queue.fail(processEnded());
    for (const waiting of this.#tokenizing.values()) waiting.reject(processEnded());
    this.#jobs.clear();
    this.#tokenizing.clear();
    this.#ended.resolve(end);
  }

  /** The library says why only in its log, whose last lines are here when the process has ended. */
  #explainLoadFailure(): string | undefined {
    if (this.#loadFailure === undefined) return undefined;
    return explainRefusal(this.#modelPath, this.#logLines)?.message ?? this.#loadFailure;
  }

  #logLine(line: string): void {
    this.#logLines.push(line);
    if (this.#logLines.length > logLinesKept) this.#logLines.shift();
    this.#log.debug({ source: "llama" }, line);
  }
}

function forkEngine(): ChildProcess {
  const entry = childEntry("engine-process", import.meta.url);
  return fork(entry, [String(process.pid)], {
    serialization: "advanced",
    stdio: ["ignore", "pipe", "pipe", "ipc"],
    // Its own heap is small: choosing tokens takes as long with it as without.
    execArgv: ["--optimize-for-size"],
  });
}

function processEnded(): ApiError {
  return new ApiError("server", {}, { retry: { shouldRetry: true } });
}
