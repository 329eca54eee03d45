/** Which URL and method leads where. Every other method of a known URL is a 405. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { ApiError } from "../contract/errors.ts";
import { openApiDocument } from "../contract/openapi.ts";
import { shorten } from "../contract/shorten.ts";
import { unlessAborted } from "../engine/unless-aborted.ts";
import { principalOf } from "./caller.ts";
import { answerCompletion } from "./completions-route.ts";
import { pathOf, unknownUrl } from "./error-reply.ts";
import { answerHealth, answerLive, answerReady } from "./health-route.ts";
import { readJsonBody } from "./json-body.ts";
import { answerMetrics } from "./metrics-route.ts";
import {
  engineOfPath,
  listEngines,
  listModels,
  retrieveEngine,
  retrieveModel,
} from "./models-route.ts";
import { permittedModels } from "./permitted-models.ts";
import { sendJson } from "./response-headers.ts";
import type { ServerContext } from "./server-context.ts";
import { detokenize, tokenize, tokenizerInfo } from "./tokens-route.ts";
import { answerUsage } from "./usage-route.ts";
import { whileWanted } from "./while-wanted.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** Answered without a key. */
    open?: boolean;
    /** Answered while the server stops. */
    tellsState?: boolean;
  }
}

type Handler = (request: FastifyRequest, reply: FastifyReply) => unknown;

export interface Methods {
  readonly GET?: Handler;
  readonly POST?: Handler;
  readonly open?: boolean;
  readonly tellsState?: boolean;
}

/** URL, in the router's notation, to what answers there. */
export type RouteTable = ReadonlyMap<string, Methods>;

/** All routes, with /v1 in front and without it. */
export function createRoutes(context: ServerContext): RouteTable {
  const routes = Object.entries(routesOf(context));
  return new Map(["", "/v1"].flatMap((prefix) => routes.map(([url, row]) => [prefix + url, row])));
}

function routesOf(context: ServerContext): Record<string, Methods> {
  const { basePath, limits, version, metrics } = context.options;
  const openApi = JSON.stringify(openApiDocument({ limits, version, basePath }));
  const complete: Handler = (request, reply) => answerCompletion(context, request, reply);
  return {
    "/completions": { POST: complete },
    // Where some clients of other vendors look.
    "/beta/completions": { POST: complete },
    "/models": { GET: (request) => listModels(seenBy(request, context)) },
    "/models/*": { GET: (request) => retrieveModel(seenBy(request, context), restOf(request)) },
    "/engines": { GET: (request) => listEngines(seenBy(request, context)) },
    "/engines/*": {
      GET: (request, reply) => {
        if (restOf(request).endsWith("/completions")) refuseMethod(request, reply, "POST");
        return retrieveEngine(seenBy(request, context), restOf(request));
      },
      POST: (request, reply) => {
        const rest = restOf(request);
        const model = engineOfPath(rest);
        if (model !== undefined) return answerCompletion(context, request, reply, model);
        const isEngine = seenBy(request, context)
          .catalog.list()
          .some(({ id }) => id === rest);
        throw isEngine ? refuseMethod(request, reply, "GET, HEAD") : unknownUrl(request);
      },
    },
    ...tokenRoutes(context),
    "/usage": { GET: (request) => answerUsage(context, request) },
    ...healthRoutes(context),
    "/openapi.json": { GET: () => openApi, open: true },
    ...(metrics === "off" ? {} : { "/metrics": metricsRoute(context) }),
  };
}

function healthRoutes(context: ServerContext): Record<string, Methods> {
  const row = (GET: Handler): Methods => ({ GET, open: true, tellsState: true });
  return {
    "/health": row((_, reply) => answerHealth(context, reply)),
    "/health/live": row(answerLive),
    "/health/ready": row((_, reply) => answerReady(context, reply)),
  };
}

/** The server's models as the key of the request may use them. */
function seenBy(request: FastifyRequest, context: ServerContext): ServerContext {
  return { ...context, catalog: permittedModels(context.catalog, principalOf(request)) };
}

/** They may have to load a model, and stop waiting for it when the client leaves. */
function tokenRoutes(context: ServerContext): Record<string, Methods> {
  type Work = (request: FastifyRequest, signal: AbortSignal) => Promise<object>;
  const wanted =
    (work: Work): Handler =>
    (request, reply) =>
      whileWanted(context, request, reply, (signal) =>
        unlessAborted(work(request, signal), signal),
      );
  const byBody = (
    work: (context: ServerContext, body: unknown, signal: AbortSignal) => Promise<object>,
  ) =>
    wanted(async (request, signal) =>
      work(seenBy(request, context), readJsonBody(request), signal),
    );
  return {
    "/tokenize": { POST: byBody(tokenize) },
    "/detokenize": { POST: byBody(detokenize) },
    "/tokenizer_info": {
      GET: wanted(async (request, signal) =>
        tokenizerInfo(seenBy(request, context), queryModel(request), signal),
      ),
    },
  };
}

function metricsRoute({ options, metrics }: ServerContext): Methods {
  return { GET: (_, reply) => answerMetrics(metrics, reply), open: options.metrics === "open" };
}

export function registerRoutes(app: FastifyInstance, routes: RouteTable): void {
  for (const [url, methods] of routes) {
    const { open = false, tellsState = false } = methods;
    const config = { open, tellsState };
    for (const method of ["GET", "POST"] as const) {
      const handler = methods[method];
      if (handler !== undefined) app.route({ method, url, config, handler: asJson(handler) });
    }
  }
}

/**
 * A request that the router has no route for. Throws `unknownUrl`, or `methodNotAllowed` when
 * another method would do; answers OPTIONS (what is no preflight) with the methods.
 */
export function answerWithoutRoute(
  request: FastifyRequest,
  reply: FastifyReply,
  routes: RouteTable,
): FastifyReply {
  const path = request.url
    .replace(/\?.*$/s, "")
    .replaceAll(/\/+/g, "/")
    .replace(/(.)\/$/, "$1");
  const methods = routes.get(path) ?? wildcardMethods(path, routes);
  if (methods === undefined) throw unknownUrl(request);
  const allow = allowOf(methods);
  if (request.method === "OPTIONS") return reply.header("allow", allow).code(204).send();
  return refuseMethod(request, reply, allow);
}

function wildcardMethods(path: string, routes: RouteTable): Methods | undefined {
  const start = /^(\/v1)?\/(models|engines)\/(?=.)/.exec(path)?.[0] ?? "";
  const { GET, POST } = routes.get(`${start}*`) ?? {};
  if (POST !== undefined && path.endsWith("/completions")) return { POST };
  return GET === undefined ? undefined : { GET };
}

/** The Allow header of a URL. */
function allowOf({ GET, POST }: Methods): string {
  const get = GET === undefined ? [] : ["GET", "HEAD"];
  return [...get, ...(POST === undefined ? [] : ["POST"])].join(", ");
}

/** Handlers give objects, texts of JSON, or a reply that they have sent themselves. */
function asJson(handler: Handler) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const answer = await handler(request, reply);
    if (answer === reply) return reply;
    const text = typeof answer === "string" ? answer : JSON.stringify(answer);
    return sendJson(reply, text);
  };
}

function refuseMethod(request: FastifyRequest, reply: FastifyReply, allow: string): never {
  reply.header("allow", allow);
  throw new ApiError("methodNotAllowed", {
    method: request.method,
    path: shorten(pathOf(request)),
  });
}

const restOf = (request: FastifyRequest): string =>
  (request.params as Readonly<Record<string, string>>)["*"] ?? "";

function queryModel(request: FastifyRequest): string | undefined {
  const { model } = request.query as Readonly<Record<string, unknown>>;
  return typeof model === "string" && model !== "" ? model : undefined;
}
