/** What every request goes through before its route, and every answer after it. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { ApiError } from "../contract/errors.ts";
import { principalOf, rememberPrincipal } from "./caller.ts";
import { Pipelines } from "./connections.ts";
import { pathOf } from "./error-reply.ts";
import { limitReading } from "./limit-reading.ts";
import { meterRequest } from "./metrics-route.ts";
import { answerPreflight, guardOrigin, isPreflight } from "./origin-guard.ts";
import { traceOf, traceRequest } from "./request-trace.ts";
import {
  compressPayload,
  elapsedMs,
  finishHeaders,
  identify,
  nameService,
} from "./response-headers.ts";
import { answerWithoutRoute, type RouteTable } from "./routes.ts";
import type { ServerContext } from "./server-context.ts";

export const shuttingDown = (): ApiError =>
  new ApiError("shuttingDown", {}, { retry: { shouldRetry: true, retryAfterMs: 1000 } });

/** The order of the checks decides what a stranger can learn: host and origin, then the key. */
export function addRequestHooks(
  app: FastifyInstance,
  context: ServerContext,
  routes: RouteTable,
): void {
  const { access, closing, options } = context;
  const pipelines = new Pipelines(options.pipelinedRequestsMax);
  app.addHook("preClose", async () => {
    closing.begun = true;
  });
  app.addHook("onRequest", async (request, reply) => {
    identify(request, reply);
    observe(request, reply, context);
    guardOrigin(request, reply, { ...options, keysInUse: access.keysInUse });
    if (isPreflight(request)) return answerPreflight(request, reply);
    const { open = false, tellsState = false } = request.routeOptions.config;
    if (closing.begun && !tellsState) throw shuttingDown();
    pipelines.enter(request, reply);
    if (!open) {
      const principal = await access.authenticate(request.headers.authorization);
      rememberPrincipal(request, principal);
      traceOf(request).caller({ id: principal.keyId, name: principal.name });
    }
    nameService(reply);
    return request.is404 ? answerWithoutRoute(request, reply, routes) : undefined;
  });
  app.addHook("onSend", async (request, reply, payload) => {
    if (closing.begun) reply.header("connection", "close");
    finishHeaders(reply);
    limitReading(reply.raw, options.stalledClientMs);
    return compressPayload(request, reply, payload);
  });
}

/** Notes the request, and its end, wherever such things are noted. */
function observe(request: FastifyRequest, { raw }: FastifyReply, context: ServerContext): void {
  const { bodies, closing, log, metrics, tracing } = context;
  const meter = meterRequest(metrics, request);
  const trace = traceRequest(tracing, request);
  raw.once("close", () => {
    const status = raw.writableFinished ? raw.statusCode : undefined;
    meter.end(status);
    trace.end(status);
    bodies.release(request.raw);
    const fields = { requestId: request.id, method: request.method, path: pathOf(request) };
    const outcome = status === undefined ? { clientLeft: true } : { status };
    log.info({ ...fields, ...keyFields(request), ...outcome, ms: elapsedMs(request) }, "request");
  });
  // A connection kept open after its last answer would hold up the end of the server.
  raw.once("finish", () => {
    if (closing.begun) request.raw.socket.destroySoon();
  });
}

/** Which key asked: its row and its name, never the key. */
function keyFields(request: FastifyRequest): { keyId?: string; keyName?: string } {
  const { keyId, name } = principalOf(request);
  return {
    ...(keyId === undefined ? {} : { keyId }),
    ...(name === "" ? {} : { keyName: name }),
  };
}
