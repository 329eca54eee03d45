/** Which URL and method leads where. Every other method of a known URL is a 405. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { ApiError } from "../contract/errors.ts";
import { openApiDocument } from "../contract/openapi.ts";
import { shorten } from "../contract/shorten.ts";
import { answerCompletion } from "./completions-route.ts";
import { pathOf, unknownUrl } from "./error-reply.ts";
import { readJsonBody } from "./json-body.ts";
import {
  engineOfPath,
  listEngines,
  listModels,
  retrieveEngine,
  retrieveModel,
} from "./models-route.ts";
import { sendJson } from "./response-headers.ts";
import type { ServerContext } from "./server-context.ts";
import { detokenize, tokenize, tokenizerInfo } from "./tokens-route.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** Answered without a key. */
    open?: boolean;
  }
}

type Handler = (request: FastifyRequest, reply: FastifyReply) => unknown;

interface Methods {
  readonly GET?: Handler;
  readonly POST?: Handler;
  readonly open?: boolean;
}

/** Registers all routes, with /v1 in front and without it. */
export function registerRoutes(app: FastifyInstance, context: ServerContext): void {
  for (const [url, methods] of Object.entries(routeTable(context))) {
    for (const prefix of ["", "/v1"]) registerUrl(app, prefix + url, methods);
  }
}

function routeTable(context: ServerContext): Record<string, Methods> {
  const { basePath, limits, version } = context.options;
  const openApi = JSON.stringify(openApiDocument({ limits, version, basePath }));
  const complete: Handler = (request, reply) => answerCompletion(context, request, reply);
  return {
    "/completions": { POST: complete },
    // Where some clients of other vendors look.
    "/beta/completions": { POST: complete },
    "/models": { GET: () => listModels(context) },
    "/models/*": { GET: (request) => retrieveModel(context, restOf(request)) },
    "/engines": { GET: () => listEngines(context) },
    "/engines/*": {
      GET: (request, reply) => {
        if (restOf(request).endsWith("/completions")) refuseMethod(request, reply, "POST");
        return retrieveEngine(context, restOf(request));
      },
      POST: (request, reply) => {
        const model = engineOfPath(restOf(request), "POST", shorten(pathOf(request)));
        return answerCompletion(context, request, reply, model);
      },
    },
    "/tokenize": { POST: (request) => tokenize(context, readJsonBody(request)) },
    "/detokenize": { POST: (request) => detokenize(context, readJsonBody(request)) },
    "/tokenizer_info": { GET: (request) => tokenizerInfo(context, queryModel(request)) },
    "/health": { GET: (_, reply) => health(context, reply), open: true },
    "/openapi.json": { GET: () => openApi, open: true },
  };
}

function registerUrl(app: FastifyInstance, url: string, methods: Methods): void {
  const config = { open: methods.open ?? false };
  const answered: string[] = [];
  for (const method of ["GET", "POST"] as const) {
    const handler = methods[method];
    if (handler === undefined) continue;
    answered.push(...(method === "GET" ? ["GET", "HEAD"] : ["POST"]));
    app.route({ method, url, config, handler: asJson(handler) });
  }
  const allow = answered.join(", ");
  app.route({
    method: app.supportedMethods.filter((method) => !answered.includes(method)),
    url,
    config,
    onRequest: async (request, reply) => {
      // Asked for methods, not for a preflight: that was answered before.
      if (request.method === "OPTIONS") return reply.header("allow", allow).code(204).send();
      return refuseMethod(request, reply, allow);
    },
    handler: refuseUnknown,
  });
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

function refuseUnknown(request: FastifyRequest): never {
  throw unknownUrl(request);
}

const restOf = (request: FastifyRequest): string =>
  (request.params as Readonly<Record<string, string>>)["*"] ?? "";

function queryModel(request: FastifyRequest): string | undefined {
  const { model } = request.query as Readonly<Record<string, unknown>>;
  return typeof model === "string" && model !== "" ? model : undefined;
}

function health(context: ServerContext, reply: FastifyReply): object {
  const state = context.health();
  if (state.status !== "ok") reply.code(503);
  return state;
}
