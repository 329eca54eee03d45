/**
 * Who may call from a browser. A server without keys must not answer to any page on the web: it
 * checks the Origin header and, bound to loopback, the Host header too (a page can point a name of
 * its own at 127.0.0.1). With keys, CORS alone decides what a page may read.
 */
import { isIP } from "node:net";
import type { FastifyReply, FastifyRequest } from "fastify";
import { isLoopback } from "../config/exposure.ts";
import { ApiError } from "../contract/errors.ts";
import { shorten } from "../contract/shorten.ts";
import type { ServerOptions } from "./server-options.ts";

export interface GuardOptions extends Pick<ServerOptions, "host" | "allowedHosts" | "cors"> {
  /** Whether requests need a key. */
  readonly keysInUse: boolean;
}

const preflightAgeSeconds = 86_400;

/** Throws for hosts and origins that are not allowed; sets CORS headers for those that are. */
export function guardOrigin(
  request: FastifyRequest,
  reply: FastifyReply,
  options: GuardOptions,
): void {
  const host = request.headers.host;
  if (host === undefined && request.raw.httpVersion === "1.1") {
    throw new ApiError("badRequest", { reason: "the Host header is missing" });
  }
  if (namesOf(request).filter((name) => name === "host").length > 1) {
    throw new ApiError("badRequest", { reason: "there is more than one Host header" });
  }
  const keyless = !options.keysInUse;
  if (keyless && host !== undefined && !isAllowedHost(host, options)) {
    throw new ApiError("forbiddenHost", { host: shorten(host) });
  }
  const origin = request.headers.origin;
  const allowed = allowedOrigin(origin, host, options);
  if (allowed !== undefined) {
    reply.header("access-control-allow-origin", allowed);
    reply.header("access-control-expose-headers", "X-Request-ID");
  }
  if (allowed !== "*") reply.header("vary", "Origin");
  if (keyless && origin !== undefined && allowed === undefined) {
    throw new ApiError("forbiddenOrigin", { origin: shorten(origin) });
  }
}

/** A browser asks whether it may send the real request. */
export function isPreflight({ method, headers }: FastifyRequest): boolean {
  return (
    method === "OPTIONS" &&
    headers.origin !== undefined &&
    headers["access-control-request-method"] !== undefined
  );
}

/** Answers a preflight; without an allowed origin the browser gets nothing to go on. */
export function answerPreflight(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  if (reply.hasHeader("access-control-allow-origin")) {
    const wanted = request.headers["access-control-request-headers"];
    reply.headers({
      "access-control-allow-methods": "GET, OPTIONS, POST",
      "access-control-allow-headers": wanted || "Authorization, Content-Type",
      "access-control-max-age": String(preflightAgeSeconds),
    });
    if (request.headers["access-control-request-private-network"] === "true") {
      reply.header("access-control-allow-private-network", "true");
    }
  }
  return reply.code(200).send();
}

/** The names of the headers as they came: of equal ones Node keeps only the first value. */
const namesOf = ({ raw }: FastifyRequest): readonly string[] =>
  raw.rawHeaders.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase());

function isAllowedHost(host: string, options: GuardOptions): boolean {
  if (!isLoopback(options.host)) return true;
  const name = hostName(host);
  if (isLoopback(name)) return true;
  const others = [options.host, ...options.allowedHosts].map(hostName);
  return others.includes(name);
}

/**
 * Whether a page under this name can be the server's own. Bound to the network, a server answers
 * programs under any name, but a page could come from a public name that its owner points here.
 */
function isOwnName(host: string, options: GuardOptions): boolean {
  if (options.keysInUse || isLoopback(options.host)) return true;
  const name = hostName(host);
  if (isIP(name.replace(/^\[|\]$/g, "")) !== 0 || isLoopback(name)) return true;
  if (!name.includes(".") || privateEndings.some((ending) => name.endsWith(ending))) return true;
  return [options.host, ...options.allowedHosts].map(hostName).includes(name);
}

/** Nobody can register names that end so. */
const privateEndings = [".local", ".internal", ".home.arpa", ".test"];

/** The name without port, brackets' case or a root dot. */
function hostName(host: string): string {
  const withoutPort = host.startsWith("[")
    ? host.replace(/\]:\d+$/, "]")
    : host.replace(/:\d+$/, "");
  return withoutPort.replace(/\.$/, "").toLowerCase();
}

/** The value of Access-Control-Allow-Origin, or undefined when the origin is not allowed. */
function allowedOrigin(
  origin: string | undefined,
  host: string | undefined,
  options: GuardOptions,
): string | undefined {
  const given = options.cors === undefined || options.cors.length === 0 ? undefined : options.cors;
  const cors = given ?? (options.keysInUse ? "*" : undefined);
  if (cors === "*" || cors?.includes("*")) return "*";
  if (origin === undefined) return undefined;
  if (isSameOrigin(origin, host) && isOwnName(host ?? "", options)) return origin;
  const allowed = cors === undefined ? isLoopbackOrigin(origin) : cors.includes(origin);
  return allowed ? origin : undefined;
}

/** The page that this server itself serves. */
const isSameOrigin = (origin: string, host: string | undefined): boolean =>
  host !== undefined && /^https?:\/\//.test(origin) && origin.replace(/^https?:\/\//, "") === host;

function isLoopbackOrigin(origin: string): boolean {
  if (!/^https?:\/\//.test(origin) || !URL.canParse(origin)) return false;
  return isLoopback(new URL(origin).hostname);
}
