/** How long a request may take: the server's limit, or less where the request asks for it. */
import type { FastifyRequest } from "fastify";
import { ApiError } from "../contract/errors.ts";
import { shorten } from "../contract/shorten.ts";

/** Seconds that a request gives itself; more than the server's limit counts as the limit. */
export const timeoutHeader = "x-completionist-timeout";

/** Milliseconds. Throws an ApiError for a header that is no number of seconds above 0. */
export function requestTimeMs(request: FastifyRequest, timeMsMax: number): number {
  const given = request.headers[timeoutHeader];
  if (given === undefined) return timeMsMax;
  const text = String(given).trim();
  const seconds = /^\d+(\.\d+)?$/.test(text) ? Number(text) : 0;
  if (seconds > 0) return Math.min(timeMsMax, seconds * 1000);
  const reason = `the header ${timeoutHeader} must be a number of seconds above 0, got '${shorten(text)}'`;
  throw new ApiError("badRequest", { reason });
}

/**
 * What a request that took too long is told. Official clients would send the same request again,
 * twice, and it would take as long again: they obey `x-should-retry` first.
 */
export function deadlineExceeded(timeMs: number): ApiError {
  const seconds = Number((timeMs / 1000).toFixed(3));
  return new ApiError("deadlineExceeded", { seconds }, { retry: { shouldRetry: false } });
}
