/** The headers that OpenAI's answers carry, and compression of bodies that are not streamed. */
import { promisify } from "node:util";
import { constants, gzip } from "node:zlib";
import type { FastifyReply, FastifyRequest } from "fastify";

const compressedBytesMin = 1024;
const ignoredHeaderCharactersMax = 1000;
const clientIdCharactersMax = 200;

const compress = promisify(gzip);

/** When each request was seen, on the monotonic clock. */
const startTimes = new WeakMap<FastifyRequest, number>();

/** When the request was seen, by `performance.now()`. */
export function seenMs(request: FastifyRequest): number {
  return startTimes.get(request) ?? performance.now();
}

/** Whole milliseconds since the request was seen. */
export function elapsedMs(request: FastifyRequest): number {
  return Math.round(performance.now() - seenMs(request));
}

/** Set as soon as a request is seen: the request's own id, and the client's when it is usable. */
export function identify(request: FastifyRequest, reply: FastifyReply): void {
  startTimes.set(request, performance.now());
  reply.header("x-request-id", request.id);
  // Node drops bytes that came together with a request to upgrade: whoever sent them shall know.
  if (request.headers.upgrade !== undefined) reply.header("connection", "close");
  const given = request.headers["x-client-request-id"] ?? request.headers["x-request-id"];
  if (typeof given !== "string" || given.length > clientIdCharactersMax) return;
  if (/^[\x21-\x7e]+$/.test(given)) reply.header("x-client-request-id", given);
}

/** Set once the caller is known; an answer that refuses a key goes without. */
export function nameService(reply: FastifyReply): void {
  reply.headers({ "openai-version": "2020-10-01", "openai-organization": "completionist" });
}

/** Set last: the time taken so far, and no caching of good answers. */
export function finishHeaders(reply: FastifyReply): void {
  if (reply.hasHeader("openai-version")) {
    reply.header("openai-processing-ms", String(elapsedMs(reply.request)));
  }
  if (reply.statusCode < 400 && !reply.hasHeader("cache-control")) {
    reply.header("cache-control", "no-cache, must-revalidate");
  }
}

/** JSON as bytes: given a string, Fastify would add a charset, which the format does not have. */
export function sendJson(reply: FastifyReply, text: string): FastifyReply {
  return reply.header("content-type", "application/json").send(Buffer.from(text));
}

/** Names of ignored fields as a header value: percent-encoded, cut when there are very many. */
export function ignoredHeader(names: readonly string[]): string {
  let value = "";
  for (const name of names) {
    const next = `${value === "" ? "" : `${value}, `}${encodeURIComponent(name.toWellFormed())}`;
    if (next.length > ignoredHeaderCharactersMax) return `${value}, ...`.replace(/^, /, "");
    value = next;
  }
  return value;
}

/** A name of a model file as a header value: letters outside ASCII are percent-encoded. */
export const headerText = (text: string): string =>
  text.toWellFormed().replaceAll(/[^\x20-\x7e]+/gu, encodeURIComponent);

/** The payload, gzipped when that is worth while and the client takes it. */
export async function compressPayload(
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
): Promise<unknown> {
  if (typeof payload !== "string" && !Buffer.isBuffer(payload)) return payload;
  if (Buffer.byteLength(payload) < compressedBytesMin) return payload;
  if (reply.hasHeader("content-encoding") || request.method === "HEAD") return payload;
  addVary(reply, "Accept-Encoding");
  if (!acceptsGzip(request.headers["accept-encoding"])) return payload;
  reply.header("content-encoding", "gzip").removeHeader("content-length");
  // The processor belongs to the model: fastest level.
  return await compress(payload, { level: constants.Z_BEST_SPEED });
}

function addVary(reply: FastifyReply, name: string): void {
  const vary = reply.getHeader("vary");
  reply.header("vary", vary === undefined ? name : `${String(vary)}, ${name}`);
}

function acceptsGzip(accept: string | string[] | undefined): boolean {
  for (const entry of String(accept ?? "").split(",")) {
    const [name, ...parameters] = entry.split(";").map((part) => part.trim().toLowerCase());
    if (name !== "gzip" && name !== "*") continue;
    const quality = parameters.find((part) => part.startsWith("q="));
    return quality === undefined || Number(quality.slice(2)) > 0;
  }
  return false;
}
