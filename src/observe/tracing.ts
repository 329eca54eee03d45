/**
 * The seam between the server and traces: a span for each request, and one inside of it for a
 * completion. The server calls it always; without tracing every call does nothing.
 */
import type { CompletionRequest } from "../contract/completion-request.ts";
import type { Choice, Usage } from "../contract/responses.ts";

export interface Tracing {
  /** A request came in, its header read. */
  begin(request: TracedRequest): RequestTrace;
  /** Sends what is left, in bounded time; later calls of a trace do nothing. Never rejects. */
  close(): Promise<void>;
}

export interface TracedRequest {
  readonly requestId: string;
  readonly method: string;
  /** Without the query, which is in no trace. */
  readonly path: string;
  /** Template of the router; undefined when none fits. */
  readonly route: string | undefined;
  readonly httpVersion: string;
  /** `traceparent`, `tracestate` and `user-agent` are looked at. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

export interface RequestTrace {
  /** Who asks, once that is known; the name of a key, never the key. */
  caller(key: { readonly id: string | undefined; readonly name: string }): void;
  /** Name of an error that goes out to the client. */
  failed(errorName: string): void;
  completion(completion: TracedCompletion): CompletionTrace;
  /** Called once. Undefined: the client left before its answer was complete. */
  end(status: number | undefined): void;
}

export interface TracedCompletion {
  readonly request: CompletionRequest;
  /** `cmpl-...`. */
  readonly id: string;
  /** As the request named it, or as the server chose. */
  readonly model: string;
  /** What answers: the artifact. */
  readonly artifact: string;
}

/** One completion, as its parts go by. */
export interface CompletionTrace {
  admitted(): void;
  choice(choice: Choice, usage: Usage): void;
  used(usage: Usage): void;
  /** Called once, however the completion ended; `error` is the name of what went wrong. */
  end(error?: string): void;
}

const noCompletion: CompletionTrace = {
  admitted: () => {},
  choice: () => {},
  used: () => {},
  end: () => {},
};

const noRequest: RequestTrace = {
  caller: () => {},
  failed: () => {},
  completion: () => noCompletion,
  end: () => {},
};

export const noTracing: Tracing = { begin: () => noRequest, close: async () => {} };
