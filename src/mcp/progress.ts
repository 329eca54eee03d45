/** Tells a caller who gave a progress token how many tokens there are so far. */
import type { ServerNotification } from "@modelcontextprotocol/sdk/types.js";

export interface ProgressOptions {
  /** As the caller gave it; undefined: nobody wants to know. */
  readonly token: string | number | undefined;
  readonly send: (notification: ServerNotification) => Promise<void>;
  readonly nowMs?: () => number;
}

/** Tokens come faster than anybody reads: between two reports passes at least this. */
export const progressIntervalMs = 100;

export class Progress {
  readonly #options: ProgressOptions;
  readonly #nowMs: () => number;
  #reportedAtMs = Number.NEGATIVE_INFINITY;
  #reported = -1;

  constructor(options: ProgressOptions) {
    this.#options = options;
    this.#nowMs = options.nowMs ?? (() => performance.now());
  }

  get wanted(): boolean {
    return this.#options.token !== undefined;
  }

  /** `total` is the most there can be; an end of text may come earlier. */
  report(tokens: number, total: number | undefined): void {
    const { token, send } = this.#options;
    if (token === undefined || tokens <= this.#reported) return;
    const nowMs = this.#nowMs();
    if (nowMs - this.#reportedAtMs < progressIntervalMs) return;
    this.#reported = tokens;
    this.#reportedAtMs = nowMs;
    const message = tokens === 0 ? "reading the prompt" : `${tokens} tokens`;
    const params = { progressToken: token, progress: tokens, message };
    send({
      method: "notifications/progress",
      params: total === undefined ? params : { ...params, total },
    }).catch(() => undefined); // a caller who left needs no report
  }
}
