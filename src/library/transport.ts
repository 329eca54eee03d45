/**
 * One request over HTTP and the start of its answer. Node's own client instead of `fetch`: that one
 * gives up after five minutes without headers, which a long completion on a slow machine takes.
 */
import http, { type IncomingMessage } from "node:http";
import https from "node:https";
import { ConnectionError } from "./connection-error.ts";

export interface TransportOptions {
  /** Without a slash at its end. */
  readonly baseUrl: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Until the answer begins. */
  readonly timeoutMs: number;
}

export interface Answer {
  readonly status: number;
  readonly header: (name: string) => string | undefined;
  /** Reading it throws a ConnectionError when it is cut, the signal's reason when that fires. */
  readonly body: AsyncIterable<Uint8Array>;
  /** Ends the connection, whatever has not been read. */
  discard(): void;
  /** Waits a moment for the end of a body that says nothing more, so that its connection is free. */
  finish(): Promise<void>;
}

/** A pool of connections to one server. */
export class Transport {
  readonly #options: TransportOptions;
  readonly #secure: boolean;
  readonly #agent: http.Agent;

  constructor(options: TransportOptions) {
    this.#options = options;
    this.#secure = new URL(options.baseUrl).protocol === "https:";
    // HTTPS_PROXY, HTTP_PROXY and NO_PROXY are honoured.
    const settings = { keepAlive: true, proxyEnv: process.env };
    this.#agent = this.#secure ? new https.Agent(settings) : new http.Agent(settings);
  }

  /** Sends a JSON body. Throws a ConnectionError, or the signal's reason. */
  async post(path: string, body: string, signal: AbortSignal): Promise<Answer> {
    signal.throwIfAborted();
    const url = new URL(`${this.#options.baseUrl}${path}`);
    const message = await this.#send(url, body, signal);
    // A failure after nobody reads any more is nobody's.
    message.on("error", () => undefined);
    return {
      status: message.statusCode ?? 0,
      header: (name) => headerOf(message, name),
      body: readBody(message, url, signal),
      discard: () => void message.destroy(),
      finish: () => finish(message),
    };
  }

  close(): void {
    this.#agent.destroy();
  }

  #send(url: URL, body: string, signal: AbortSignal): Promise<IncomingMessage> {
    const { timeoutMs } = this.#options;
    const headers = {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
      accept: "application/json, text/event-stream",
      "user-agent": "completionist",
      ...this.#options.headers,
    };
    return new Promise((resolve, reject) => {
      const outgoing = (this.#secure ? https : http).request(url, {
        method: "POST",
        agent: this.#agent,
        headers,
      });
      // Not the option `signal`: it would destroy a connection that went back to the pool.
      const abort = () => void outgoing.destroy();
      signal.addEventListener("abort", abort, { once: true });
      outgoing.once("close", () => signal.removeEventListener("abort", abort));
      const timer = setTimeout(() => {
        const text = `${url.origin} did not answer within ${timeoutMs / 1000} s`;
        outgoing.destroy(new ConnectionError("timeout", text));
      }, timeoutMs);
      outgoing.once("response", (message) => {
        clearTimeout(timer);
        resolve(message);
      });
      outgoing.on("error", (error: NodeJS.ErrnoException) => {
        clearTimeout(timer);
        if (signal.aborted) reject(signal.reason);
        else reject(error instanceof ConnectionError ? error : connectProblem(error, url));
      });
      outgoing.end(body);
    });
  }
}

/** How long the end of a body may stay out once all was said. */
const lingerMs = 200;

async function finish(message: IncomingMessage): Promise<void> {
  const closed = new Promise((resolve) => message.once("close", resolve));
  message.resume();
  const timer = setTimeout(() => message.destroy(), lingerMs);
  if (!message.closed) await closed;
  clearTimeout(timer);
}

async function* readBody(
  message: IncomingMessage,
  url: URL,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of message.iterator({ destroyOnReturn: false })) {
      yield chunk as Uint8Array;
    }
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw new ConnectionError("cut", `the answer of ${url.origin} was cut`, { cause: error });
  }
  // An abort may end the body as if it were whole.
  signal.throwIfAborted();
}

function headerOf(message: IncomingMessage, name: string): string | undefined {
  const value = message.headers[name];
  return Array.isArray(value) ? value.join(", ") : value;
}

const connectTexts: Readonly<Record<string, string>> = {
  ECONNREFUSED: "refused the connection: is a server running there?",
  ENOTFOUND: "could not be resolved",
  EAI_AGAIN: "could not be resolved",
  ECONNRESET: "closed the connection without an answer",
  EPIPE: "closed the connection without an answer",
  EHOSTUNREACH: "cannot be reached",
  ENETUNREACH: "cannot be reached",
  ETIMEDOUT: "did not take the connection in time",
};

function connectProblem(error: NodeJS.ErrnoException, url: URL): ConnectionError {
  const text = connectTexts[error.code ?? ""] ?? `could not be asked (${error.message})`;
  return new ConnectionError("connect", `${url.origin} ${text}`, { cause: error });
}
