/** Streamable HTTP for agent hosts: one route, guarded as the routes of the API are. */
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import type { Access } from "../access/access.ts";
import { ApiError } from "../contract/errors.ts";
import { principalOf, rememberPrincipal } from "../http/caller.ts";
import { toApiError } from "../http/error-reply.ts";
import { guardOrigin, isPreflight } from "../http/origin-guard.ts";
import { HttpSessions } from "./http-sessions.ts";
import { readJson } from "./json.ts";
import type { McpServerParts } from "./mcp-server.ts";

export interface HttpEndpointOptions {
  /** The address it is bound to: decides whether Host headers are checked. */
  readonly host: string;
  /** Whose keys are taken. */
  readonly access: Access;
  readonly allowedHosts: readonly string[];
  readonly cors: readonly string[];
  readonly bodyBytesMax: number;
}

export const mcpPath = "/mcp";

/** Not yet listening. Closing it ends all sessions. */
export function createHttpEndpoint(
  parts: McpServerParts,
  options: HttpEndpointOptions,
): FastifyInstance {
  const { access } = options;
  const sessions = new HttpSessions(parts);
  const app = Fastify({
    bodyLimit: options.bodyBytesMax,
    forceCloseConnections: true,
  });
  app.removeAllContentTypeParsers();
  // Some hosts name a type where they send no body.
  const parser = { parseAs: "string" } as const;
  app.addContentTypeParser("application/json", parser, async (_: unknown, text: string) => {
    if (text === "") return undefined;
    const body = readJson(text);
    if (body === undefined) throw new ApiError("badJson");
    return body;
  });
  app.addHook("onRequest", async (request, reply) => {
    guardOrigin(request, reply, { ...options, keysInUse: access.keysInUse });
    if (reply.hasHeader("access-control-allow-origin")) {
      reply.header("access-control-expose-headers", "Mcp-Session-Id");
    }
    if (isPreflight(request)) return answerPreflight(request, reply);
    rememberPrincipal(request, await access.authenticate(request.headers.authorization));
    return undefined;
  });
  app.setErrorHandler((error, _, reply) => {
    const known = toApiError(error, options.bodyBytesMax);
    if (known.errorName === "server") parts.log.error({ err: error }, "unexpected error");
    if (known.status === 401) reply.header("www-authenticate", "Bearer");
    return refuse(reply, known.status, known.message);
  });
  app.setNotFoundHandler(({ method, url }, reply) => {
    const { status, message } = new ApiError("unknownUrl", { method, path: url });
    return refuse(reply, status, message);
  });
  app.all(mcpPath, async (request, reply) => {
    reply.hijack();
    for (const [name, value] of Object.entries(reply.getHeaders())) {
      if (value !== undefined) reply.raw.setHeader(name, value);
    }
    const { raw, body } = request;
    const exchange = { request: raw, response: reply.raw, body, principal: principalOf(request) };
    const refusal = await sessions.handle(exchange);
    if (refusal === undefined) return;
    reply.raw.writeHead(refusal.status, { "content-type": "application/json" });
    reply.raw.end(JSON.stringify(protocolError(refusal.message)));
  });
  app.addHook("preClose", () => sessions.close());
  return app;
}

function refuse(reply: FastifyReply, status: number, message: string): FastifyReply {
  return reply.code(status).type("application/json").send(protocolError(message));
}

const transportErrorCode = -32000;

/** An error about no message in particular, in the form that hosts read. */
const protocolError = (message: string): object => ({
  jsonrpc: "2.0",
  error: { code: transportErrorCode, message },
  id: null,
});

/** A browser asks whether it may send the real request. */
function answerPreflight(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  if (reply.hasHeader("access-control-allow-origin")) {
    const wanted = request.headers["access-control-request-headers"];
    reply.headers({
      "access-control-allow-methods": "GET, POST, DELETE, OPTIONS",
      "access-control-allow-headers": wanted || "Authorization, Content-Type, Mcp-Session-Id",
    });
  }
  return reply.code(204).send();
}
