/** The calls of the library against a server that speaks the Completions API. */
import { setTimeout as sleep } from "node:timers/promises";
import type { CompletionClient } from "./client.ts";
import { RemoteClient } from "./remote-client.ts";

export interface ConnectOptions {
  /** Where the routes begin, `/v1` included: `http://127.0.0.1:8080/v1`. */
  readonly baseUrl: string;
  /** Sent as `Authorization: Bearer KEY`. Default: none is sent. */
  readonly apiKey?: string | undefined;
  /** Further headers of every request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /**
   * Tries after the first, when the server is overloaded or cannot be reached. A stream is never tried
   * again once it has begun. Default 2.
   */
  readonly retriesMax?: number | undefined;
  /** Milliseconds until an answer must begin. Default 600,000. */
  readonly timeoutMs?: number | undefined;
}

const defaultRetriesMax = 2;
const defaultTimeoutMs = 600_000;

/**
 * Nothing is sent yet. Calls throw an ApiError for what the server refuses, and a ConnectionError
 * where it cannot be reached or its answer is no whole one. Throws a TypeError for a base URL that is
 * none.
 */
export function connect(options: ConnectOptions): CompletionClient {
  const { baseUrl, apiKey, headers, retriesMax, timeoutMs } = options;
  return new RemoteClient(
    {
      baseUrl: checkedBaseUrl(baseUrl),
      headers: {
        ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
        ...headers,
      },
      timeoutMs: timeoutMs ?? defaultTimeoutMs,
    },
    {
      retriesMax: retriesMax ?? defaultRetriesMax,
      random: Math.random,
      now: Date.now,
      sleep: (delayMs, signal) => sleep(delayMs, undefined, { signal }),
    },
  );
}

function checkedBaseUrl(baseUrl: unknown): string {
  const text = typeof baseUrl === "string" ? baseUrl.replace(/\/+$/, "") : "";
  const { protocol } = URL.parse(text) ?? {};
  if (protocol === "http:" || protocol === "https:") return text;
  throw new TypeError(`baseUrl: expected an http or https URL, got ${JSON.stringify(baseUrl)}`);
}
