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

export type EngineLog = Pick<Logger, "debug" | "info" | "warn" | "error">;

const telling = /error|assert|abort|terminate|out of memory/i;
/** Lines of the library's log that are kept to explain a failure. */
const logLinesKept = 40;

interface Waiting<T> {
  readonly resolve: (value: T) => void;
  readonly reject: (error: unknown) => void;
}

export class EngineChild {
  readonly #process: ChildProcess;
  readonly #log: EngineLog;
  readonly #modelPath: string;
  readonly #jobs = new Map<number, EventQueue<EngineEvent>>();
  readonly #tokenizing = new Map<number, Waiting<readonly number[]>>();
  readonly #logLines: string[] = [];
  readonly #loaded = Promise.withResolvers<LoadedModel>();
  /** Resolves with a sentence that says how the process ended. */
  readonly ended: Promise<string>;
  #loadFailure: string | undefined;
  #stats: EngineStats | undefined;
  #nextId = 0;
  #alive = true;

  constructor(options: LoadOptions, log: EngineLog) {
    this.#log = log;
    this.#modelPath = options.modelPath;
    this.#process = fork(childEntry("engine-process", import.meta.url), [], {
      serialization: "advanced",
      stdio: ["ignore", "pipe", "pipe", "ipc"],
      execArgv: [],
    });
    const ended = Promise.withResolvers<string>();
    this.ended = ended.promise;
    this.#loaded.promise.catch(() => {});
    this.#process.on("message", (message) => this.#receive(message as FromEngine));
    this.#process.on("error", (error) => this.#log.error({ err: error }, "engine process"));
    this.#process.on("close", (code, signal) => {
      const how = this.#end(code, signal);
      ended.resolve(how);
    });
    this.#readLog();
    this.#send({ kind: "load", options });
  }

  get alive(): boolean {
    return this.#alive;
  }

  get pid(): number | undefined {
    return this.#process.pid;
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

  stop(): void {
    this.#process.kill("SIGTERM");
  }

  #send(message: ToEngine): void {
    if (!this.#process.connected) return; // `close` follows and fails what is open
    this.#process.send(message, (error) => {
      if (error !== null) this.#log.debug({ err: error }, "engine process is gone");
    });
  }

  #receive(message: FromEngine): void {
    if (message.kind === "events") for (const event of message.events) this.#jobEvent(event);
    else if (message.kind === "stats") this.#stats = message.stats;
    else if (message.kind === "loaded") this.#loaded.resolve(message.model);
    else if (message.kind === "loadFailed") {
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
      queue.push(message.event);
      return;
    }
    this.#jobs.delete(message.id);
    if ("ended" in message) queue.finish();
    else queue.fail(new ApiError(message.refused, {}, { retry: message.retry }));
  }

  #end(code: number | null, signal: NodeJS.Signals | null): string {
    this.#alive = false;
    const how = signal === null ? `exited with code ${code}` : `was ended by ${signal}`;
    // A stack trace ends with less telling lines than it begins with.
    const lastLine = this.#logLines.findLast((line) => telling.test(line));
    const said = lastLine === undefined ? "" : ` (it said: ${lastLine})`;
    const sentence = `The engine process ${how}${said}.`;
    this.#loaded.reject(new Error(this.#explainLoadFailure() ?? sentence));
    for (const queue of this.#jobs.values()) queue.fail(processEnded());
    for (const waiting of this.#tokenizing.values()) waiting.reject(processEnded());
    this.#jobs.clear();
    this.#tokenizing.clear();
    return sentence;
  }

  /** The library says why only in its log, whose last lines are here when the process has ended. */
  #explainLoadFailure(): string | undefined {
    if (this.#loadFailure === undefined) return undefined;
    return explainRefusal(this.#modelPath, this.#logLines)?.message ?? this.#loadFailure;
  }

  // The library logs to stderr; lines without JavaScript callbacks cannot deadlock its threads.
  #readLog(): void {
    for (const stream of [this.#process.stdout, this.#process.stderr]) {
      if (stream === null) continue;
      createInterface({ input: stream }).on("line", (line) => {
        this.#logLines.push(line);
        if (this.#logLines.length > logLinesKept) this.#logLines.shift();
        this.#log.debug({ source: "llama" }, line);
      });
    }
  }
}

function processEnded(): ApiError {
  return new ApiError("server", {}, { retry: { shouldRetry: true } });
}
