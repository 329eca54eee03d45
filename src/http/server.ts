/**
 * The HTTP server: limits, checks before any route, routes, errors. Made of parts that are handed
 * in, so that it can be tested without an engine.
 */
import Fastify, { type FastifyInstance } from "fastify";
import { startCompletion } from "../completion/complete.ts";
import { ApiError } from "../contract/errors.ts";
import type { ModelCatalog } from "../models/catalog.ts";
import { Metrics } from "../observe/metrics.ts";
import { noTracing, type Tracing } from "../observe/tracing.ts";
import { ActiveRequests } from "./active-requests.ts";
import { createKeyCheck } from "./api-keys.ts";
import { rememberOwner } from "./caller.ts";
import {
  answerMalformed,
  logUnexpected,
  pathOf,
  sendError,
  toApiError,
  unknownUrl,
} from "./error-reply.ts";
import { newRequestId } from "./identifiers.ts";
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
import { answerWithoutRoute, createRoutes, type RouteTable, registerRoutes } from "./routes.ts";
import type { Health, ServerContext, StartCompletion } from "./server-context.ts";
import {
  defaultServerOptions,
  needsKey,
  type ServerLog,
  type ServerOptions,
} from "./server-options.ts";
import { skipBody } from "./skip-body.ts";
import { UnusedConnections } from "./unused-connections.ts";

export interface ServerParts {
  readonly catalog: ModelCatalog;
  readonly log: ServerLog;
  readonly options?: Partial<ServerOptions>;
  readonly startCompletion?: StartCompletion;
  /** What GET /health says; without it the server is always well. */
  readonly health?: () => Health;
  /** What is measured; without it the server has metrics of its own. */
  readonly metrics?: Metrics;
  /** Where spans go; without it there are none. */
  readonly tracing?: Tracing;
  /** Ends running requests with `shuttingDown` when it fires; `close()` alone waits for them. */
  readonly shutdown?: AbortSignal;
}

/** A server that does not listen yet. Further routes may be added to it. */
export function createServer(parts: ServerParts): FastifyInstance {
  const options = { ...defaultServerOptions, ...parts.options };
  const context: ServerContext = {
    catalog: parts.catalog,
    options,
    log: parts.log,
    active: new ActiveRequests(),
    startCompletion: parts.startCompletion ?? startCompletion,
    health: parts.health ?? (() => ({ status: "ok" })),
    metrics: parts.metrics ?? new Metrics({ version: options.version }),
    tracing: parts.tracing ?? noTracing,
  };
  parts.shutdown?.addEventListener("abort", () => context.active.abortAll(shuttingDown()));
  const app = createFastify(context);
  prepareConnections(app);
  addErrorReplies(app, context);
  const routes = createRoutes(context);
  addRequestHooks(app, context, routes, parts.shutdown);
  registerRoutes(app, routes);
  return app;
}

const shuttingDown = (): ApiError =>
  new ApiError("shuttingDown", {}, { retry: { shouldRetry: true, retryAfterMs: 1000 } });

function createFastify({ options, log, metrics }: ServerContext): FastifyInstance {
  return Fastify({
    genReqId: newRequestId,
    requestIdHeader: false,
    bodyLimit: options.bodyBytesMax,
    requestTimeout: options.requestTimeoutMs,
    keepAliveTimeout: options.idleConnectionMs,
    return503OnClosing: false,
    // A missing Host header is answered by the guard, in the envelope.
    http: {
      headersTimeout: options.headersTimeoutMs,
      connectionsCheckingInterval: options.timeoutCheckMs,
      requireHostHeader: false,
    },
    routerOptions: {
      ignoreTrailingSlash: true,
      ignoreDuplicateSlashes: true,
      maxParamLength: 1000,
    },
    rewriteUrl: ({ url = "/" }) => withoutBasePath(url, options.basePath),
    clientErrorHandler: answerMalformed,
    frameworkErrors: (thrown, request, reply) => {
      identify(request, reply);
      const error = toApiError(thrown, options.bodyBytesMax);
      logUnexpected(error, request.id, log);
      metrics.requests.error(error.errorName);
      void sendError(reply, error);
    },
  });
}

function withoutBasePath(url: string, basePath: string): string {
  if (basePath === "" || !url.startsWith(basePath)) return url;
  const rest = url.slice(basePath.length);
  if (rest === "" || rest.startsWith("?")) return `/${rest}`;
  return rest.startsWith("/") ? rest : url;
}

function prepareConnections(app: FastifyInstance): void {
  const unused = new UnusedConnections(app.server);
  app.addHook("preClose", async () => unused.closeAll());
  // Bodies of all types are read as bytes; what they may be is decided in one place, json-body.ts.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", { parseAs: "buffer" }, (_, body, done) => done(null, body));
  // Expectations other than 100-continue are ignored instead of refused with an empty answer.
  app.server.on("checkExpectation", (request, response) => {
    app.server.emit("request", request, response);
  });
  // Behind an answer that is still due, Node would write "100 Continue" into the middle of the next.
  app.server.on("checkContinue", (request, response) => {
    if (response.socket !== null) response.writeContinue();
    app.server.emit("request", request, response);
  });
}

function addErrorReplies(app: FastifyInstance, { options, log, metrics }: ServerContext): void {
  app.setErrorHandler(async (thrown, request, reply) => {
    const error = toApiError(thrown, options.bodyBytesMax);
    logUnexpected(error, request.id, log);
    metrics.requests.error(error.errorName);
    traceOf(request).failed(error.errorName ?? "server");
    if (error.errorName === "requestTooLarge") await skipBody(request.raw);
    return sendError(reply, error);
  });
  app.setNotFoundHandler((request) => {
    throw unknownUrl(request);
  });
}

/** The order of the checks decides what a stranger can learn: host and origin, then the key. */
function addRequestHooks(
  app: FastifyInstance,
  { options, log, metrics, tracing }: ServerContext,
  routes: RouteTable,
  shutdown: AbortSignal | undefined,
): void {
  const checkKey = needsKey(options) ? createKeyCheck(options.apiKeys) : undefined;
  let closing = false;
  shutdown?.addEventListener("abort", () => {
    closing = true;
  });
  app.addHook("preClose", async () => {
    closing = true;
  });
  app.addHook("onRequest", async (request, reply) => {
    identify(request, reply);
    const { raw } = reply;
    const meter = meterRequest(metrics, request);
    const trace = traceRequest(tracing, request);
    raw.once("close", () => {
      const status = raw.writableFinished ? raw.statusCode : undefined;
      meter.end(status);
      trace.end(status);
      const fields = { requestId: request.id, method: request.method, path: pathOf(request) };
      const outcome = status === undefined ? { clientLeft: true } : { status };
      log.info({ ...fields, ...outcome, ms: elapsedMs(request) }, "request");
    });
    // A connection kept open after its last answer would hold up the end of the server.
    raw.once("finish", () => {
      if (closing) request.raw.socket.destroySoon();
    });
    guardOrigin(request, reply, options);
    if (isPreflight(request)) return answerPreflight(request, reply);
    if (closing) throw shuttingDown();
    if (checkKey !== undefined && request.routeOptions.config.open !== true) {
      rememberOwner(request, checkKey(request.headers.authorization));
    }
    nameService(reply);
    return request.is404 ? answerWithoutRoute(request, reply, routes) : undefined;
  });
  app.addHook("onSend", async (request, reply, payload) => {
    if (closing) reply.header("connection", "close");
    finishHeaders(reply);
    return compressPayload(request, reply, payload);
  });
}
