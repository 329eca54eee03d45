/** Why a server could not be asked, or its answer not be read to its end. */

export type ConnectionProblem =
  /** No connection came about. */
  | "connect"
  /** The answer did not begin in time. */
  | "timeout"
  /** The connection ended before the answer did; a stream without its `[DONE]` too. */
  | "cut"
  /** What came is no answer of this API. */
  | "malformed";

/** The message is a sentence that names the server; the cause, where there is one, is the system's. */
export class ConnectionError extends Error {
  override readonly name = "ConnectionError";
  readonly reason: ConnectionProblem;

  constructor(reason: ConnectionProblem, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.reason = reason;
  }
}
