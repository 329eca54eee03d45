/**
 * Watches one engine process from the server's side. Every message is a sign of life: a working
 * engine reports four times a second and after each longer step. When nothing comes, it is asked for
 * an answer, which it gives between two steps; when none comes for too long, it hangs.
 */
import { SilenceMeter } from "./silence-meter.ts";
import type { WatchdogLimits } from "./watchdog-limits.ts";

export interface WatchdogOptions {
  readonly limits: WatchdogLimits;
  /** Whether there is work whose end the server waits for. */
  readonly hasWork: () => boolean;
  /** Asks the process to say something. */
  readonly ask: () => void;
  /** A text that changes while the process computes or reads; undefined where nobody knows. */
  readonly activity: () => string | undefined;
  /** Called once, with the end of a sentence that begins with "The engine process". */
  readonly onHung: (how: string) => void;
  /** Milliseconds, monotonic. */
  readonly nowMs?: () => number;
}

const lookMsMin = 50;
const lookMsMax = 5_000;
const looksPerLimit = 8;

export class Watchdog {
  readonly #options: WatchdogOptions;
  readonly #nowMs: () => number;
  readonly #meter: SilenceMeter;
  readonly #timer: NodeJS.Timeout | undefined;
  #loading = true;
  #loadingMs = 0;
  #asked = false;
  #told = false;
  #activity: string | undefined;

  /** Begins at once, with a process that loads. */
  constructor(options: WatchdogOptions) {
    this.#options = options;
    this.#nowMs = options.nowMs ?? (() => performance.now());
    const { silenceMs } = options.limits;
    const lookEveryMs = Math.min(lookMsMax, Math.max(lookMsMin, silenceMs / looksPerLimit));
    this.#meter = new SilenceMeter({ limitMs: silenceMs, lookEveryMs, nowMs: this.#nowMs() });
    if (silenceMs > 0) this.#timer = setInterval(() => this.#look(), lookEveryMs).unref();
  }

  /** A message came. */
  heard(): void {
    this.#asked = false;
    this.#meter.heard();
  }

  /** The model is loaded; `probedMs`: what its first steps took, the widest among them. */
  loaded(probedMs: number): void {
    this.#loading = false;
    this.#meter.learn(probedMs);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const countedMs = this.#meter.look(this.#nowMs(), this.#loading || this.#options.hasWork());
    if (this.#loading) this.#lookAtLoading(countedMs);
    else if (this.#meter.silentMs > 0 && !this.#asked) {
      this.#asked = true;
      this.#options.ask();
    }
    // What has arrived is read before judging: the timer may have run before the messages.
    if (this.#meter.tooLong) setImmediate(() => this.#judge());
  }

  /** A loading process reads no messages, but it computes and reads its file. */
  #lookAtLoading(countedMs: number): void {
    this.#loadingMs += countedMs;
    const activity = this.#options.activity();
    const active = activity !== undefined && activity !== this.#activity;
    this.#activity = activity;
    // Where the system does not tell, only the time for loading counts.
    if (active || activity === undefined) this.#meter.heard();
    const { loadingMs } = this.#options.limits;
    if (this.#loadingMs > loadingMs) {
      this.#hung(`was not ready ${seconds(loadingMs)} after its start`);
    }
  }

  #judge(): void {
    if (!this.#meter.tooLong) return;
    const when = this.#loading ? " while it loaded the model" : "";
    this.#hung(`gave no sign of life for ${seconds(this.#meter.silentMs)}${when}`);
  }

  #hung(how: string): void {
    if (this.#told) return;
    this.#told = true;
    this.stop();
    this.#options.onHung(how);
  }
}

function seconds(timeMs: number): string {
  return `${Math.round(timeMs / 100) / 10} seconds`;
}
