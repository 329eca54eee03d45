/** Errors on their way out: whatever was thrown becomes a row of the table, and only here. */
import type { Socket } from "node:net";
import type { FastifyReply, FastifyRequest } from "fastify";
import { ApiError, type RetryAdvice } from "../contract/errors.ts";
import { shorten } from "../contract/shorten.ts";
import { newRequestId } from "./identifiers.ts";
import { sendJson } from "./response-headers.ts";
import type { ServerLog } from "./server-options.ts";

/** The table's row for anything thrown; what nobody expected is the `server` row. */
export function toApiError(thrown: unknown, bodyBytesMax: number): ApiError {
  if (thrown instanceof ApiError) return thrown;
  const { code, statusCode } = fastifyFields(thrown);
  switch (code) {
    case "FST_ERR_CTP_BODY_TOO_LARGE":
      return new ApiError("requestTooLarge", { bytesMax: bodyBytesMax });
    case "FST_ERR_CTP_INVALID_MEDIA_TYPE":
      return new ApiError("unsupportedMediaType", { contentType: "not a media type" });
    case "FST_ERR_CTP_INVALID_CONTENT_LENGTH":
      return badRequest("the body is not as long as its Content-Length says");
    case "FST_ERR_BAD_URL":
      return badRequest("the URL is not valid");
    case "FST_ERR_MAX_PARAM_LENGTH":
      return badRequest("a part of the URL is too long");
  }
  if (statusCode >= 400 && statusCode < 500) return badRequest("it is incomplete or malformed");
  return new ApiError("server", {}, { cause: thrown });
}

const badRequest = (reason: string): ApiError => new ApiError("badRequest", { reason });

function fastifyFields(thrown: unknown): { code: string; statusCode: number } {
  const fields = (thrown ?? {}) as { code?: unknown; statusCode?: unknown };
  return { code: String(fields.code), statusCode: Number(fields.statusCode) };
}

/** Logs errors that nobody expected; all others are answers like any other. */
export function logUnexpected(error: ApiError, requestId: string, log: ServerLog): void {
  if (error.errorName !== "server") return;
  log.error({ requestId, err: error.cause ?? error }, "unexpected error");
}

/** Sends an error in the envelope, with the headers that belong to it. */
export function sendError(reply: FastifyReply, error: ApiError): FastifyReply {
  reply.code(error.status).headers({ ...error.headers, ...retryHeaders(error.retry) });
  if (error.status === 401) reply.header("www-authenticate", "Bearer");
  return sendJson(reply, JSON.stringify(error.body()));
}

/** Headers that the official clients obey: the first in milliseconds, the second for all others. */
export function retryHeaders(retry: RetryAdvice): Record<string, string> {
  const headers: Record<string, string> = {};
  if (retry.retryAfterMs !== undefined) {
    headers["retry-after"] = String(Math.max(1, Math.ceil(retry.retryAfterMs / 1000)));
    headers["retry-after-ms"] = String(Math.max(0, Math.ceil(retry.retryAfterMs)));
  }
  if (retry.shouldRetry !== undefined) headers["x-should-retry"] = String(retry.shouldRetry);
  return headers;
}

export function unknownUrl(request: FastifyRequest): ApiError {
  const path = pathOf(request);
  if (/\/chat\/completions\/?$/.test(path)) return new ApiError("chatUnsupported");
  return new ApiError("unknownUrl", { method: request.method, path: shorten(path) });
}

/** The path as the client sent it, without the query. */
export const pathOf = (request: FastifyRequest): string =>
  request.originalUrl.split("?", 1)[0] ?? "";

/** Answers bytes that never became a request. Nothing is sent into an answer that has begun. */
export function answerMalformed(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === "ECONNRESET" || !socket.writable || answerHasBegun(socket)) {
    socket.destroy();
    return;
  }
  const body = malformedError(error.code);
  const text = JSON.stringify(body.body());
  const head = [
    `HTTP/1.1 ${body.status} ${statusTexts[body.status] ?? "Bad Request"}`,
    "content-type: application/json",
    `content-length: ${Buffer.byteLength(text)}`,
    `x-request-id: ${newRequestId()}`,
    "connection: close",
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${text}`);
  // Destroyed at once, the answer could be lost together with bytes that were not read.
  setTimeout(() => socket.destroy(), lingerMs).unref();
}

/** How long a connection stays half open after an answer to something malformed. */
const lingerMs = 1000;

const statusTexts: Readonly<Record<number, string>> = {
  400: "Bad Request",
  408: "Request Timeout",
  431: "Request Header Fields Too Large",
};

function malformedError(code: string | undefined): ApiError {
  if (code === "HPE_HEADER_OVERFLOW") return new ApiError("headersTooLarge");
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") return new ApiError("requestTimeout");
  return badRequest("it is not valid HTTP");
}

/** Node keeps the answer in progress on the socket. */
function answerHasBegun(socket: Socket): boolean {
  const { _httpMessage: message } = socket as Socket & {
    _httpMessage?: { headersSent: boolean } | null;
  };
  return message?.headersSent === true;
}
