/**
 * Downloads a file over HTTP into a part file, and goes on where an earlier try stopped when the
 * server can. Knows nothing of hashes: who asked for the file checks it.
 */
import { open, rm, stat } from "node:fs/promises";
import http, { type IncomingMessage, type OutgoingHttpHeaders } from "node:http";
import https from "node:https";
import { SourceError } from "./fetch-error.ts";

export interface DownloadOptions {
  readonly url: string;
  /** The part file; what it holds already is kept and continued. */
  readonly partFile: string;
  readonly signal: AbortSignal;
  readonly onProgress: (bytes: number, total: number | undefined) => void;
  /** Proxy settings (`HTTPS_PROXY`, `HTTP_PROXY`, `NO_PROXY`) are taken from here. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly limits?: Partial<DownloadLimits>;
  /** Sent to the server of `url`, and to no other that it redirects to: it may be a secret. */
  readonly authorization?: string | undefined;
}

export interface DownloadLimits {
  /** Until a connection stands, TLS included. */
  readonly connectMs: number;
  /** The longest silence of the server afterwards. */
  readonly silenceMs: number;
  readonly redirects: number;
  /** Cut connections in a row that brought nothing new. */
  readonly emptyTries: number;
}

export const downloadLimits: DownloadLimits = {
  connectMs: 5_000,
  silenceMs: 30_000,
  redirects: 5,
  emptyTries: 2,
};

/** The connection ended before the file did. */
class CutError extends Error {}

/** Fills the part file. Throws a SourceError with the reason, or an error of the disk. */
export async function download(options: DownloadOptions): Promise<void> {
  const limits = { ...downloadLimits, ...options.limits };
  let emptyTries = 0;
  let size = await sizeOf(options.partFile);
  for (;;) {
    try {
      await downloadOnce(options, limits, size);
      return;
    } catch (error) {
      options.signal.throwIfAborted();
      if (!(error instanceof CutError)) throw error;
      const sizeNow = await sizeOf(options.partFile);
      emptyTries = sizeNow > size ? 0 : emptyTries + 1;
      if (emptyTries >= limits.emptyTries) throw new SourceError(error.message);
      size = sizeNow;
    }
  }
}

async function downloadOnce(
  options: DownloadOptions,
  limits: DownloadLimits,
  size: number,
): Promise<void> {
  const response = await openUrl(new URL(options.url), options, limits, size);
  if (response.statusCode === 416) {
    // Nothing lies beyond what we have: either it is all, or it is not this file.
    response.destroy();
    if (/\/(\d+)$/.exec(response.headers["content-range"] ?? "")?.[1] === String(size)) return;
    await rm(options.partFile, { force: true });
    return downloadOnce(options, limits, 0);
  }
  const start = resumePoint(response, size);
  const length = Number(response.headers["content-length"] ?? Number.NaN);
  const total = Number.isFinite(length) ? start + length : undefined;
  let bytes = start;
  options.onProgress(bytes, total);
  const file = await open(options.partFile, start > 0 ? "a" : "w");
  try {
    // Not a pipeline: with one, the failure of a file can leave a response that never closes.
    for await (const chunk of chunksOf(response)) {
      await file.appendFile(chunk);
      bytes += chunk.length;
      options.onProgress(bytes, total);
    }
  } finally {
    response.destroy();
    await file.close();
  }
  if (total !== undefined && bytes < total) {
    throw new CutError(`the connection ended after ${bytes} of ${total} bytes`);
  }
}

/** The body; what goes wrong here is the connection, never the disk. */
async function* chunksOf(response: IncomingMessage): AsyncGenerator<Buffer> {
  try {
    yield* response;
  } catch (error) {
    throw new CutError(reasonOf(error));
  }
}

/** Where the answer's body belongs: after what we have, or at the beginning. */
function resumePoint(response: IncomingMessage, size: number): number {
  if (response.statusCode === 200) return 0;
  const start = Number(/^bytes (\d+)-/.exec(response.headers["content-range"] ?? "")?.[1]);
  if (response.statusCode === 206 && start === size) return size;
  response.destroy();
  throw new SourceError(`the server answered ${response.statusCode}`);
}

/** Sends the request and follows redirects until an answer that has a body for us. */
async function openUrl(
  url: URL,
  options: DownloadOptions,
  limits: DownloadLimits,
  size: number,
): Promise<IncomingMessage> {
  let current = url;
  for (let redirects = 0; redirects <= limits.redirects; redirects += 1) {
    const authorization = current.origin === url.origin ? options.authorization : undefined;
    const headers = {
      ...(size > 0 ? { range: `bytes=${size}-` } : {}),
      ...(authorization === undefined ? {} : { authorization }),
    };
    const response = await request(current, options, limits, { method: "GET", headers });
    const status = response.statusCode ?? 0;
    const location = response.headers.location;
    if (status < 300 || status >= 400 || location === undefined) {
      if (status === 200 || status === 206 || status === 416) return response;
      response.destroy();
      throw new SourceError(`the server answered ${status}`);
    }
    response.destroy();
    current = new URL(location, current);
  }
  throw new SourceError(`more than ${limits.redirects} redirects`);
}

/** What a server says of an address, by a request for the head alone; redirects are not followed. */
export async function askHead(
  options: Pick<DownloadOptions, "url" | "signal" | "environment" | "limits" | "authorization">,
): Promise<Pick<IncomingMessage, "statusCode" | "headers">> {
  const { authorization } = options;
  const response = await request(
    new URL(options.url),
    options,
    { ...downloadLimits, ...options.limits },
    { method: "HEAD", headers: authorization === undefined ? {} : { authorization } },
  );
  response.destroy();
  return response;
}

function request(
  url: URL,
  options: Pick<DownloadOptions, "signal" | "environment">,
  limits: DownloadLimits,
  sent: { readonly method: "GET" | "HEAD"; readonly headers: OutgoingHttpHeaders },
): Promise<IncomingMessage> {
  const secure = url.protocol === "https:";
  if (!secure && url.protocol !== "http:") {
    throw new SourceError(`${url.protocol} addresses are not supported`);
  }
  const agentOptions = { proxyEnv: options.environment, keepAlive: false };
  return new Promise((resolve, reject) => {
    const outgoing = (secure ? https : http).request(url, {
      agent: secure ? new https.Agent(agentOptions) : new http.Agent(agentOptions),
      signal: options.signal,
      method: sent.method,
      headers: {
        "user-agent": "completionist",
        "accept-encoding": "identity",
        ...sent.headers,
      },
    });
    const connectTimer = setTimeout(() => {
      outgoing.destroy(new SourceError(`no connection within ${limits.connectMs / 1000} s`));
    }, limits.connectMs);
    const connected = () => clearTimeout(connectTimer);
    outgoing.on("socket", (socket) => {
      if (!socket.connecting) connected();
      else socket.once(secure ? "secureConnect" : "connect", connected);
    });
    outgoing.setTimeout(limits.silenceMs, () => {
      outgoing.destroy(new CutError(`the server was silent for ${limits.silenceMs / 1000} s`));
    });
    outgoing.on("response", resolve);
    outgoing.on("error", (error) => {
      reject(error instanceof SourceError ? error : new SourceError(reasonOf(error)));
    });
    outgoing.on("close", connected);
    outgoing.end();
  });
}

const networkCodes: Readonly<Record<string, string>> = {
  ENOTFOUND: "its name could not be resolved",
  EAI_AGAIN: "its name could not be resolved",
  ECONNREFUSED: "the connection was refused",
  ECONNRESET: "the connection was cut",
  ECONNABORTED: "the connection was cut",
  ERR_STREAM_PREMATURE_CLOSE: "the connection was cut",
  EPIPE: "the connection was cut",
  ETIMEDOUT: "the connection timed out",
  EHOSTUNREACH: "it cannot be reached",
  ENETUNREACH: "there is no network",
};

function reasonOf(error: unknown): string {
  if (error instanceof CutError) return error.message;
  const { code, message } = error as NodeJS.ErrnoException;
  return networkCodes[code ?? ""] ?? `${message.split("\n")[0]} (${code})`;
}

async function sizeOf(file: string): Promise<number> {
  return stat(file).then(
    (stats) => stats.size,
    () => 0,
  );
}
