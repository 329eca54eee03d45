/**
 * Which models are in memory. A model is loaded when it is first used; for its room, models that
 * nobody uses are unloaded, the one not used for longest first. What does not fit yet waits in line.
 */
import { ApiError } from "../contract/errors.ts";
import { bytesText } from "../llama/engine-size.ts";
import type { ModelLease } from "./model-lease.ts";
import { modelFailed, PooledModel, type PooledModelOptions } from "./pooled-model.ts";

export interface MemoryLimit {
  /** What all models may take together. */
  readonly bytesMax: number;
  /** Whether a model that is larger is refused, or else served as long as it is alone. */
  readonly strict: boolean;
}

export interface PoolLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

export interface ModelPoolOptions {
  readonly models: readonly PooledModelOptions[];
  readonly memory: MemoryLimit;
  readonly log: PoolLog;
  /** Requests that wait for a model to be loaded; further ones are refused. Default 1,024. */
  readonly waitingMax?: number;
  /** Milliseconds, monotonic. */
  readonly nowMs?: () => number;
}

/**
 * How long a model in use may go on taking new requests while another one waits for its room, and
 * how long after a load at least. Then it only ends what runs.
 */
export const turnMs = 2_000;
const waitingMaxDefault = 1_024;

interface Waiter {
  readonly model: PooledModel;
  readonly sinceMs: number;
  readonly grant: (lease: ModelLease) => void;
  readonly refuse: (error: unknown) => void;
}

export class ModelPool {
  readonly models: readonly PooledModel[];
  readonly #memory: MemoryLimit;
  readonly #log: PoolLog;
  readonly #waitingMax: number;
  readonly #nowMs: () => number;
  readonly #closed = new AbortController();
  /** In the order in which they came. */
  #waiting: Waiter[] = [];
  /** In use, but to be unloaded for the first in line: they take nobody new. */
  #leaving: ReadonlySet<PooledModel> = new Set();
  /** Loads and unloads under way. */
  readonly #work = new Set<Promise<void>>();
  #turn: NodeJS.Timeout | undefined;
  #closing: Promise<void> | undefined;
  #uses = 0;

  constructor(options: ModelPoolOptions) {
    this.#memory = options.memory;
    this.#log = options.log;
    this.#waitingMax = options.waitingMax ?? waitingMaxDefault;
    this.#nowMs = options.nowMs ?? (() => performance.now());
    const acquire = (model: PooledModel, signal: AbortSignal) => this.#acquire(model, signal);
    this.models = options.models.map((model) => new PooledModel(model, acquire));
  }

  /** Requests that wait for this model to be loaded. */
  waitingFor(model: PooledModel): number {
    return this.#waiting.filter((waiter) => waiter.model === model).length;
  }

  /** Why these models cannot all be loaded at once: a sentence; undefined: they can. */
  shortageOf(models: readonly PooledModel[]): string | undefined {
    const bytes = models.reduce((sum, { estimatedBytes }) => sum + estimatedBytes, 0);
    if (!this.#memory.strict || bytes <= this.#memory.bytesMax) return undefined;
    const names = models.map(({ id }) => id).join(", ");
    const verb = models.length === 1 ? "takes" : "take together";
    return `${names} ${verb} about ${bytesText(bytes)}; ${this.#allowedText()}.`;
  }

  #allowedText(): string {
    return `all models together may take ${bytesText(this.#memory.bytesMax)} (--memory)`;
  }

  /** Ends all engines, also those that are only starting. Who waits is refused. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#closed.abort(new ApiError("shuttingDown"));
    clearTimeout(this.#turn);
    for (const waiter of this.#waiting.splice(0)) waiter.refuse(this.#closed.signal.reason);
    await Promise.all(this.#work);
    await Promise.all(this.models.map((model) => model.unload()));
  }

  async #acquire(model: PooledModel, signal: AbortSignal): Promise<ModelLease> {
    signal.throwIfAborted();
    this.#closed.signal.throwIfAborted();
    const failure = model.failure(this.#nowMs()) ?? this.#neverFits(model);
    if (failure !== undefined) throw failure;
    if (this.#isOpen(model)) return this.#lease(model);
    if (this.#waiting.length >= this.#waitingMax) throw new ApiError("overloaded");
    return this.#wait(model, signal);
  }

  async #wait(model: PooledModel, signal: AbortSignal): Promise<ModelLease> {
    const { promise, resolve: grant, reject: refuse } = Promise.withResolvers<ModelLease>();
    const waiter: Waiter = { model, sinceMs: this.#nowMs(), grant, refuse };
    const leave = () => {
      const place = this.#waiting.indexOf(waiter);
      if (place < 0) return; // it has the lease already
      this.#waiting.splice(place, 1);
      refuse(signal.reason);
      this.#advance();
    };
    this.#waiting.push(waiter);
    signal.addEventListener("abort", leave, { once: true });
    this.#advance();
    try {
      return await promise;
    } finally {
      signal.removeEventListener("abort", leave);
    }
  }

  #isOpen(model: PooledModel): boolean {
    return model.state === "loaded" && !this.#leaving.has(model);
  }

  #lease(model: PooledModel): ModelLease {
    const { engine } = model;
    if (engine === undefined) throw new Error(`${model.id} has no engine`);
    let released = false;
    model.leases += 1;
    model.lastUse = this.#uses += 1;
    return {
      engine,
      release: () => {
        if (released) return;
        released = true;
        model.leases -= 1;
        model.lastUse = this.#uses += 1;
        if (model.leases === 0) this.#advance();
      },
    };
  }

  #neverFits(model: PooledModel): ApiError | undefined {
    const { bytesMax, strict } = this.#memory;
    if (!strict || model.held || model.estimatedBytes <= bytesMax) return undefined;
    return modelFailed(`it takes about ${bytesText(model.estimatedBytes)}; ${this.#allowedText()}`);
  }

  /** Called whenever anything has changed: does all that can be done now. */
  #advance(): void {
    if (this.#closed.signal.aborted) return;
    clearTimeout(this.#turn);
    // Who has waited for a load gets a lease of it before anybody looks for an idle model.
    this.#grantAll();
    this.#leaving = new Set();
    // One after the other: who is behind must not take the room that the first in line waits for.
    for (;;) {
      const first = this.#waiting.find(({ model }) => !["loaded", "loading"].includes(model.state));
      if (first === undefined || !this.#bring(first)) break;
    }
    this.#grantAll();
    if (this.#waiting.length === 0) this.#trim();
  }

  /** Whether the model of the first in line is on its way; else room for it is being made. */
  #bring(first: Waiter): boolean {
    const { model } = first;
    if (model.state === "unloading") return false;
    const missing = this.#needOf(model) + this.#usedBytes() - this.#memory.bytesMax;
    if (missing <= 0) {
      this.#load(model);
      return true;
    }
    const leavingSoon = this.#bytesOf((other) => other.state === "unloading");
    if (missing > leavingSoon) this.#makeRoom(first, missing - leavingSoon);
    return false;
  }

  /** Bytes that must be free for a load: never more than there are, so that a lone model loads. */
  #needOf(model: PooledModel): number {
    return Math.min(model.bytes, this.#memory.bytesMax);
  }

  #makeRoom(first: Waiter, missing: number): void {
    const chosen = this.#chooseLeaving(missing);
    if (chosen === undefined) return; // not before a load under way has ended
    const busy = chosen.filter((model) => !model.idle);
    if (busy.length === 0) {
      for (const model of chosen) this.#unload(model);
      return;
    }
    const turnEndsMs = Math.max(first.sinceMs, ...busy.map((model) => model.loadedMs)) + turnMs;
    const leftMs = turnEndsMs - this.#nowMs();
    if (leftMs <= 0) this.#leaving = new Set(chosen);
    else this.#turn = setTimeout(() => this.#advance(), Math.ceil(leftMs)).unref();
  }

  /** Loaded models that free so much: idle ones first, then by last use; undefined: not enough. */
  #chooseLeaving(missing: number): readonly PooledModel[] | undefined {
    const loaded = this.models
      .filter(({ state }) => state === "loaded")
      .toSorted((a, b) => Number(b.idle) - Number(a.idle) || a.lastUse - b.lastUse);
    let freed = 0;
    for (const [index, model] of loaded.entries()) {
      freed += model.bytes;
      if (freed >= missing) return loaded.slice(0, index + 1);
    }
    return undefined;
  }

  #grantAll(): void {
    const granted = this.#waiting.filter(({ model }) => this.#isOpen(model));
    this.#waiting = this.#waiting.filter(({ model }) => !this.#isOpen(model));
    for (const { model, grant } of granted) grant(this.#lease(model));
  }

  /** Loaded models may have grown beyond their estimates. */
  #trim(): void {
    const held = this.models.filter(({ held, state }) => held && state !== "unloading");
    const used = this.#bytesOf((model) => held.includes(model));
    if (held.length < 2 || used <= this.#memory.bytesMax) return;
    const victim = held.filter(({ idle }) => idle).toSorted((a, b) => a.lastUse - b.lastUse)[0];
    if (victim !== undefined) this.#unload(victim);
  }

  #usedBytes(): number {
    return this.#bytesOf(({ held }) => held);
  }

  #bytesOf(wanted: (model: PooledModel) => boolean): number {
    return this.models.filter(wanted).reduce((sum, { bytes }) => sum + bytes, 0);
  }

  #load(model: PooledModel): void {
    this.#log.info({ model: model.id, bytes: model.bytes }, "loading a model");
    this.#track(
      model.load(this.#closed.signal, this.#nowMs).then(
        () => this.#log.info({ model: model.id }, "the model is loaded"),
        (error: unknown) => this.#refuseAll(model, error),
      ),
    );
  }

  #refuseAll(model: PooledModel, error: unknown): void {
    const refused = this.#waiting.filter((waiter) => waiter.model === model);
    this.#waiting = this.#waiting.filter((waiter) => waiter.model !== model);
    if (!this.#closed.signal.aborted) {
      const reason = error instanceof Error ? error.message : String(error);
      this.#log.warn({ model: model.id, reason }, "the model could not be loaded");
    }
    for (const { refuse } of refused) refuse(error);
  }

  #unload(model: PooledModel): void {
    this.#log.info({ model: model.id, bytes: model.bytes }, "unloading a model");
    this.#track(model.unload());
  }

  #track(work: Promise<void>): void {
    this.#work.add(work);
    void work.finally(() => {
      this.#work.delete(work);
      this.#advance();
    });
  }
}
