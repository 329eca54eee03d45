/**
 * How many threads the next call should use. The library's threads wait for each other in busy
 * loops: beside a neighbour that takes one of their cores a call may last a hundred times as long,
 * while alone each further thread makes it a little faster. So two things are learnt from the time
 * that calls take: how many threads get a core of their own now (the ceiling, the same for all
 * work), and how many are best for each kind of work below it.
 */
import { type Work, WorkClass } from "./work-class.ts";

export interface ThreadGovernorOptions {
  /** No more threads than that. */
  readonly cores: number;
  /** Default: one core less, for everything else that runs. */
  readonly start?: number;
}

/** A call that takes so many times its usual time has been kept waiting. */
const badFactor = 2;
/** One such call may be chance; a second one soon after, or one that takes so many times, is not. */
const worseFactor = 6;
const badAgainCalls = 16;
/** Less than that is the noise of any machine, whatever its share of a short call. */
const badSlackMs = 3;
/** After a loss, so many times as much has to be worked before the next attempt: one per cent. */
const workPerLoss = 100;
/** When a core has become free that was not, by what the kernel counts: less is enough. */
const workPerLossWhenFree = 10;
const backoffMsMin = 1_000;
const backoffMsMax = 120_000;
/** Good calls with one thread more that raise the ceiling. */
const trialCalls = 4;
/** Falls that follow each other so soon go further down. */
const fallAgainMs = 2_000;
/**
 * A core counts as free although that much of it is used: the server beside the engine, and its
 * clients, take some of it. A trial then shows whether it is free enough.
 */
const coreSlack = 0.25;
/** The first attempt comes soon: what a quiet machine gains by it is most of what there is. */
const firstAttemptMs = 200;
/** Kinds of work remembered; more than ever are met in one day's use. */
const classesMax = 512;
/** A kind of work that is new may cost so much more than what others suggest. */
const unknownFactor = 3;

export class ThreadGovernor {
  readonly #cores: number;
  readonly #classes = new Map<string, WorkClass>();
  #ceiling: number;
  /** Good calls so far of the attempt to use one thread more. */
  #trial: { threads: number; goodCalls: number } | undefined;
  /** Undefined: no call yet. */
  #raiseAtMs: number | undefined;
  #backoffMs = backoffMsMin;
  #raisedAtMs = Number.NEGATIVE_INFINITY;
  #fellAtMs = Number.NEGATIVE_INFINITY;
  #workedMs = 0;
  /** Of the last call that was kept waiting; no attempt before enough work has followed it. */
  #loss = { ms: 0, atWorkedMs: 0, workPerLoss };
  #lastThreads: number;
  #freeCores: number | undefined;
  /** Others were seen to use the core that one thread more would need. */
  #crowded = false;
  /** Calls since the last one that was kept waiting. */
  #callsSinceBad = Number.POSITIVE_INFINITY;

  constructor({ cores, start = cores - 1 }: ThreadGovernorOptions) {
    this.#cores = Math.max(1, cores);
    this.#ceiling = Math.min(this.#cores, Math.max(1, start));
    this.#lastThreads = this.#ceiling;
  }

  /** Of the last call. */
  get threads(): number {
    return this.#lastThreads;
  }

  /** The most that get a core of their own now. */
  get ceiling(): number {
    return this.#ceiling;
  }

  /** `freeCores`: cores that others have left free of late, if known; may be a fraction. */
  choose(work: Work, nowMs: number, freeCores?: number): number {
    this.#raiseAtMs ??= nowMs + firstAttemptMs;
    this.#notice(freeCores, nowMs);
    const kind = this.#classOf(work);
    const { ms, atWorkedMs, workPerLoss: factor } = this.#loss;
    const mayAttempt = this.#workedMs >= atWorkedMs + factor * ms;
    if (this.#trial === undefined && mayAttempt && this.#canRaise(kind, nowMs)) {
      this.#trial = { threads: this.#ceiling + 1, goodCalls: 0 };
    }
    const known = kind.usualMs(this.#ceiling) !== undefined;
    this.#lastThreads =
      this.#trial !== undefined && known
        ? this.#trial.threads
        : kind.choose(this.#ceiling, nowMs, mayAttempt);
    return this.#lastThreads;
  }

  /** What a call took that nobody chose: it was measured. */
  learn(work: Work, threads: number, elapsedMs: number, nowMs: number): void {
    this.#classOf(work).record(threads, elapsedMs, nowMs);
  }

  /** Called after each call with what `choose` said for it. */
  record(work: Work, threads: number, elapsedMs: number, nowMs: number): void {
    this.#workedMs += elapsedMs;
    const kind = this.#classOf(work);
    const usualMs = kind.usualMs(threads) ?? this.#suggestedMs(kind);
    if (usualMs !== undefined && threads > 1 && elapsedMs > badFactor * usualMs + badSlackMs) {
      if (this.#isMore(threads, elapsedMs / usualMs)) {
        this.#keptWaiting(threads, elapsedMs - usualMs, nowMs);
        kind.endAttempt(nowMs);
      }
      return;
    }
    this.#callsSinceBad += 1;
    kind.record(threads, elapsedMs, nowMs);
    const muchFaster = kind.muchFasterBelow(threads, this.#ceiling, badFactor);
    if (muchFaster !== undefined) this.#leaveCrowded(muchFaster, nowMs);
    if (this.#trial?.threads !== threads) return;
    this.#trial.goodCalls += 1;
    if (this.#trial.goodCalls < trialCalls) return;
    this.#ceiling = threads;
    this.#raisedAtMs = nowMs;
    this.#raiseAtMs = nowMs + backoffMsMin;
    this.#trial = undefined;
  }

  /** What failed while a core was taken says nothing once it is free again. */
  #notice(freeCores: number | undefined, nowMs: number): void {
    this.#freeCores = freeCores;
    if (freeCores === undefined) return;
    const wasCrowded = this.#crowded;
    this.#crowded = this.#ceiling < this.#cores && freeCores < this.#ceiling + 1 - coreSlack;
    if (this.#crowded || !wasCrowded) return;
    this.#backoffMs = backoffMsMin;
    this.#raiseAtMs = Math.min(this.#raiseAtMs ?? nowMs, nowMs);
    this.#loss = { ...this.#loss, workPerLoss: workPerLossWhenFree };
  }

  /** Whether a call that took `factor` times its usual time was kept waiting by more than chance. */
  #isMore(threads: number, factor: number): boolean {
    const again = this.#callsSinceBad < badAgainCalls;
    this.#callsSinceBad = 0;
    return again || factor > worseFactor || threads > this.#ceiling;
  }

  #canRaise(kind: WorkClass, nowMs: number): boolean {
    if (this.#ceiling >= this.#cores || nowMs < (this.#raiseAtMs ?? nowMs)) return false;
    return !this.#crowded && kind.usualMs(this.#ceiling) !== undefined;
  }

  #keptWaiting(threads: number, lossMs: number, nowMs: number): void {
    this.#loss = { ms: lossMs, atWorkedMs: this.#workedMs, workPerLoss };
    if (this.#trial?.threads === threads) {
      this.#trial = undefined;
      this.#backOff(nowMs);
      return;
    }
    if (threads > this.#ceiling) return;
    const fallsAgain = nowMs - this.#fellAtMs < fallAgainMs;
    const free = Math.floor((this.#freeCores ?? 0) + coreSlack);
    const target = fallsAgain || free < 1 ? Math.floor(threads / 2) : Math.min(threads - 1, free);
    this.#fallTo(target, nowMs);
  }

  /** The ceiling was crowded from the start, so that no call stood out. */
  #leaveCrowded(threads: number, nowMs: number): void {
    for (const kind of this.#classes.values()) kind.forgetAbove(threads);
    this.#fallTo(threads, nowMs);
  }

  #fallTo(threads: number, nowMs: number): void {
    this.#ceiling = Math.max(1, threads);
    this.#fellAtMs = nowMs;
    this.#trial = undefined;
    if (nowMs - this.#raisedAtMs > 10 * this.#backoffMs) this.#backoffMs = backoffMsMin / 2;
    this.#backOff(nowMs);
  }

  #backOff(nowMs: number): void {
    this.#backoffMs = Math.min(backoffMsMax, 2 * this.#backoffMs);
    this.#raiseAtMs = nowMs + this.#backoffMs;
  }

  #classOf(work: Work): WorkClass {
    const key = WorkClass.key(work);
    const known = this.#classes.get(key);
    if (known !== undefined) {
      known.rows = work.rows;
      return known;
    }
    if (this.#classes.size >= classesMax) {
      const [oldest = ""] = this.#classes.keys();
      this.#classes.delete(oldest);
    }
    const made = new WorkClass(work);
    this.#classes.set(key, made);
    return made;
  }

  /** The most that work not seen before should take, by what other work took. */
  #suggestedMs(kind: WorkClass): number | undefined {
    let leastMs: number | undefined;
    for (const other of this.#classes.values()) {
      const otherMs = other.usualMs(this.#cores);
      if (other === kind || otherMs === undefined) continue;
      const ms = otherMs * Math.max(1, kind.rows / other.rows) * unknownFactor;
      leastMs = Math.min(leastMs ?? ms, ms);
    }
    return leastMs;
  }
}
