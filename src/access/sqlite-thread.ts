/** One worker thread with a SQLite file: started, asked, closed; a dead one fails what it was asked. */
import { Worker } from "node:worker_threads";
import { childEntry } from "../llama/child-entry.ts";
import type { SqliteHolder } from "./sqlite-here.ts";
import type { FromWorker, ToWorker, WorkerSettings } from "./sqlite-messages.ts";
import { type OperationName, StoreError } from "./store.ts";

interface Call {
  resolve(output: unknown): void;
  reject(error: unknown): void;
}

export class SqliteThread implements SqliteHolder {
  readonly #worker: Worker;
  readonly #calls = new Map<number, Call>();
  readonly #ended = Promise.withResolvers<void>();
  readonly #ready = Promise.withResolvers<void>();
  #nextId = 0;
  #dead = false;

  private constructor(settings: WorkerSettings) {
    this.#worker = new Worker(childEntry("sqlite-worker", import.meta.url), {
      workerData: settings,
    });
    this.#worker.on("message", (message: FromWorker) => this.#hear(message));
    this.#worker.on("error", (error) => this.#end(error.message));
    this.#worker.on("exit", () => this.#end("its thread ended"));
  }

  /** Rejects with a StoreError that says why the file cannot be opened. */
  static async start(settings: WorkerSettings): Promise<SqliteThread> {
    const thread = new SqliteThread(settings);
    await thread.#ready.promise;
    thread.#worker.unref();
    return thread;
  }

  /** Resolves when the thread is no more. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  ask(name: OperationName, input: unknown, nowMs: number | undefined): Promise<unknown> {
    if (this.#dead) {
      return Promise.reject(new StoreError("unavailable", "The thread of the database is gone."));
    }
    const id = this.#nextId++;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#calls.set(id, { resolve, reject });
    // It keeps the process alive only while somebody waits for it.
    this.#worker.ref();
    const message: ToWorker = { kind: "run", id, name, input, nowMs };
    this.#worker.postMessage(message);
    return promise;
  }

  async close(): Promise<void> {
    if (!this.#dead) {
      this.#worker.ref();
      const message: ToWorker = { kind: "close" };
      this.#worker.postMessage(message);
    }
    await this.#ended.promise;
  }

  #hear(message: FromWorker): void {
    if (message.kind === "ready") {
      this.#ready.resolve();
    } else if (message.kind === "failed") {
      this.#ready.reject(new StoreError("unavailable", message.message));
    } else {
      const call = this.#calls.get(message.id);
      this.#calls.delete(message.id);
      if (this.#calls.size === 0) this.#worker.unref();
      if (message.kind === "done") call?.resolve(message.output);
      else call?.reject(new StoreError(message.problem, message.message));
    }
  }

  #end(reason: string): void {
    this.#dead = true;
    const error = new StoreError("unavailable", `The database is gone: ${reason}.`, {
      maybeDone: true,
    });
    this.#ready.reject(error);
    // Nobody may be waiting for it any more.
    this.#ready.promise.catch(() => undefined);
    for (const call of this.#calls.values()) call.reject(error);
    this.#calls.clear();
    this.#ended.resolve();
  }
}
