/** Abort signals of the requests at work: they fire when the client leaves or the server must go. */
import type { ServerResponse } from "node:http";

/** The reason of a signal whose client closed the connection. Not a fault of anybody. */
export class ClientLeft extends Error {
  constructor() {
    super("the client closed the connection");
    this.name = "ClientLeft";
  }
}

export class ActiveRequests {
  readonly #controllers = new Set<AbortController>();

  /** The signal of the request that this response answers. */
  signalFor(raw: ServerResponse): AbortSignal {
    const controller = new AbortController();
    this.#controllers.add(controller);
    const closed = () => {
      this.#controllers.delete(controller);
      if (!raw.writableFinished) controller.abort(new ClientLeft());
    };
    // The client may have gone while its body was still being looked at.
    if (raw.destroyed || raw.socket?.destroyed) closed();
    else raw.once("close", closed);
    return controller.signal;
  }

  /** Ends everything that is still running, for that reason. */
  abortAll(reason: unknown): void {
    for (const controller of this.#controllers) controller.abort(reason);
  }
}
