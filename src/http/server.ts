/**
 * The HTTP server: limits, checks before any route, routes, errors. Made of parts that are handed
 * in, so that it can be tested without an engine.
 */
import Fastify, { type FastifyInstance } from "fastify";
import type { Access } from "../access/access.ts";
import { unrecordedAccess } from "../access/unrecorded-access.ts";
import { startCompletion } from "../completion/complete.ts";
import type { ModelCatalog } from "../models/catalog.ts";
import { Metrics } from "../observe/metrics.ts";
import { noTracing, type Tracing } from "../observe/tracing.ts";
import { ActiveRequests } from "./active-requests.ts";
import { prepareConnections } from "./connections.ts";
import {
  answerMalformed,
  logUnexpected,
  sendError,
  toApiError,
  unknownUrl,
} from "./error-reply.ts";
import { newRequestId } from "./identifiers.ts";
import { RequestBodies } from "./request-body.ts";
import { addRequestHooks, shuttingDown } from "./request-hooks.ts";
import { traceOf } from "./request-trace.ts";
import { identify } from "./response-headers.ts";
import { createRoutes, registerRoutes } from "./routes.ts";
import type { Health, ServerContext, StartCompletion } from "./server-context.ts";
import { defaultServerOptions, type ServerLog, type ServerOptions } from "./server-options.ts";
import { skipBody } from "./skip-body.ts";

export interface ServerParts {
  /** Keys, limits and the ledger; without it the keys of the options, and nothing is recorded. */
  readonly access?: Access;
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
    access: parts.access ?? unrecordedAccess(options.apiKeys),
    catalog: parts.catalog,
    options,
    log: parts.log,
    active: new ActiveRequests(),
    bodies: new RequestBodies(options),
    closing: { begun: false },
    startCompletion: parts.startCompletion ?? startCompletion,
    health: parts.health ?? (() => ({ status: "ok" })),
    metrics: parts.metrics ?? new Metrics({ version: options.version }),
    tracing: parts.tracing ?? noTracing,
  };
  parts.shutdown?.addEventListener("abort", () => {
    context.closing.begun = true;
    context.active.abortAll(shuttingDown());
  });
  const app = createFastify(context);
  prepareConnections(app, context);
  addErrorReplies(app, context);
  const routes = createRoutes(context);
  addRequestHooks(app, context, routes);
  registerRoutes(app, routes);
  // Requests whose clients have gone hold no connection, but may still have to be accounted for.
  app.addHook("onClose", () => context.active.idle());
  return app;
}

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

function addErrorReplies(app: FastifyInstance, { options, log, metrics }: ServerContext): void {
  app.setErrorHandler(async (thrown, request, reply) => {
    const error = toApiError(thrown, options.bodyBytesMax);
    logUnexpected(error, request.id, log);
    metrics.requests.error(error.errorName);
    traceOf(request).failed(error.errorName ?? "server");
    // Both may come while the client is still sending, and it reads only when it has sent all.
    if (error.errorName === "requestTooLarge" || error.errorName === "overloaded") {
      await skipBody(request.raw);
    }
    return sendError(reply, error);
  });
  app.setNotFoundHandler((request) => {
    throw unknownUrl(request);
  });
}
