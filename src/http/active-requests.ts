/** The requests at work. Each has a signal: it fires when the client leaves or the server must go. */
import type { ServerResponse } from "node:http";

/** The reason of a signal whose client closed the connection. Not a fault of anybody. */
export class ClientLeft extends Error {
  constructor() {
    super("the client closed the connection");
    this.name = "ClientLeft";
  }
}

export interface ActiveRequest {
  readonly signal: AbortSignal;
  /** Ends its work for that reason. */
  abort(reason: unknown): void;
  /** Its work is done. */
  end(): void;
}

export class ActiveRequests {
  readonly #controllers = new Set<AbortController>();
  #whenIdle: (() => void)[] = [];

  /** The request that this response answers is at work until its `end()`. */
  begin(raw: ServerResponse): ActiveRequest {
    const controller = new AbortController();
    this.#controllers.add(controller);
    const closed = () => {
      if (!raw.writableFinished) controller.abort(new ClientLeft());
    };
    // The client may have gone while its body was still being looked at.
    if (raw.destroyed || raw.socket?.destroyed) closed();
    else raw.once("close", closed);
    return {
      signal: controller.signal,
      abort: (reason) => controller.abort(reason),
      end: () => this.#end(controller),
    };
  }

  /** Ends everything that is still running, for that reason. */
  abortAll(reason: unknown): void {
    for (const controller of this.#controllers) controller.abort(reason);
  }

  /** Resolves as soon as nothing is at work: a client that is gone may have left an account open. */
  idle(): Promise<void> {
    if (this.#controllers.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#whenIdle.push(resolve));
  }

  #end(controller: AbortController): void {
    this.#controllers.delete(controller);
    if (this.#controllers.size > 0) return;
    for (const resolve of this.#whenIdle.splice(0)) resolve();
  }
}
