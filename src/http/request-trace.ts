/** The trace of each request, from its header to the end of its answer. */
import type { FastifyRequest } from "fastify";
import { noTracing, type RequestTrace, type Tracing } from "../observe/tracing.ts";
import { pathOf } from "./error-reply.ts";

const traces = new WeakMap<FastifyRequest, RequestTrace>();

export function traceRequest(tracing: Tracing, request: FastifyRequest): RequestTrace {
  if (tracing === noTracing) return none;
  const trace = tracing.begin({
    requestId: request.id,
    method: request.method,
    path: pathOf(request),
    route: request.is404 ? undefined : request.routeOptions.url,
    httpVersion: request.raw.httpVersion,
    headers: request.headers,
  });
  traces.set(request, trace);
  return trace;
}

const none = noTracing.begin({
  requestId: "",
  method: "",
  path: "",
  route: undefined,
  httpVersion: "",
  headers: {},
});

/** One that does nothing when requests are not traced, or this one never came so far. */
export const traceOf = (request: FastifyRequest): RequestTrace => traces.get(request) ?? none;
