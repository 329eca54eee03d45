/**
 * Errors of tool calls. Most are the API's own; the few here belong to no answer of the server: a
 * call that took too long, and a server elsewhere that cannot be used.
 */
import { ApiError } from "../contract/errors.ts";
import type { ErrorBody } from "../contract/responses.ts";

export class ToolError extends Error {
  override readonly name = "ToolError";
  readonly #body: ErrorBody;

  constructor(body: ErrorBody["error"]) {
    super(body.message);
    this.#body = { error: body };
  }

  body(): ErrorBody {
    return this.#body;
  }
}

/** Counted from the call, so time in the queue is part of it. */
export function callTimeout(limitMs: number): ToolError {
  return new ToolError({
    message:
      `The call took longer than ${limitMs / 1000} seconds and was stopped. Ask for fewer tokens ` +
      "or fewer candidates.",
    type: "server_error",
    param: null,
    code: "call_timeout",
  });
}

/** The server behind --base-url did not do what a completions server does. */
export function upstreamFailed(reason: string): ToolError {
  const message = `The server that answers for this tool failed: ${reason}.`;
  return new ToolError({ message, type: "server_error", param: null, code: "upstream_failed" });
}

/** The body for anything that was thrown; what nobody expected is the API's `server` error. */
export function errorBodyOf(thrown: unknown): ErrorBody {
  if (thrown instanceof ToolError || thrown instanceof ApiError) return thrown.body();
  return new ApiError("server", {}, { cause: thrown }).body();
}

export const isExpected = (thrown: unknown): boolean =>
  thrown instanceof ToolError || (thrown instanceof ApiError && thrown.errorName !== "server");
