/** One server-sent event stream: whole frames, comment lines in silence, a reader that may be slow. */
import type { OutgoingHttpHeaders, ServerResponse } from "node:http";
import { limitReading } from "./limit-reading.ts";

export interface EventStreamOptions {
  readonly keepAliveCommentMs: number;
  readonly stalledClientMs: number;
  /** Once it fires, nothing waits for a slow reader any more. */
  readonly signal: AbortSignal;
}

/** A bare colon: some clients take `: ping` for the end of what they read. */
const comment = ":\n\n";

export class EventStream {
  readonly #raw: ServerResponse;
  readonly #stalledClientMs: number;
  readonly #signal: AbortSignal;
  readonly #timer: NodeJS.Timeout;

  /** Sends the headers at once. */
  constructor(raw: ServerResponse, headers: OutgoingHttpHeaders, options: EventStreamOptions) {
    this.#raw = raw;
    this.#stalledClientMs = options.stalledClientMs;
    this.#signal = options.signal;
    raw.writeHead(200, headers);
    raw.flushHeaders();
    this.#timer = setInterval(() => this.#writeComment(), options.keepAliveCommentMs);
    raw.once("close", () => clearInterval(this.#timer));
  }

  /**
   * Writes one frame in one piece. Resolves when the client has room for the next; a client that
   * makes no room for `stalledClientMs` is disconnected. Does nothing when the client has left. So
   * no more than one frame waits beyond what Node buffers (16 KiB); what comes after it is left to
   * its source.
   */
  async send(data: string): Promise<void> {
    if (this.#raw.destroyed) return;
    this.#timer.refresh();
    if (!this.#raw.write(`data: ${data}\n\n`)) await this.#drained();
  }

  /** Ends the stream in the way that clients wait for. */
  async done(): Promise<void> {
    await this.send("[DONE]");
    clearInterval(this.#timer);
    limitReading(this.#raw, this.#stalledClientMs);
    this.#raw.end();
  }

  #writeComment(): void {
    if (!this.#raw.destroyed && !this.#raw.writableNeedDrain) this.#raw.write(comment);
  }

  #drained(): Promise<void> {
    const [raw, signal] = [this.#raw, this.#signal];
    return new Promise((resolve) => {
      const timer = setTimeout(() => raw.destroy(), this.#stalledClientMs);
      const settle = () => {
        clearTimeout(timer);
        raw.off("drain", settle).off("close", settle);
        signal.removeEventListener("abort", settle);
        resolve();
      };
      raw.on("drain", settle).on("close", settle);
      signal.addEventListener("abort", settle);
      if (signal.aborted) settle();
    });
  }
}
