/** GET /metrics, and what the server hands to the metrics on the way of a request. */
import type { FastifyReply, FastifyRequest } from "fastify";
import type { CompletionPart } from "../completion/completion-run.ts";
import type { CompletionMeter } from "../observe/completion-metrics.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { RequestMeter } from "../observe/request-metrics.ts";

export async function answerMetrics(metrics: Metrics, reply: FastifyReply): Promise<FastifyReply> {
  const text = await metrics.text();
  return reply.header("content-type", metrics.contentType).send(Buffer.from(text));
}

/** Templates of the router are few; a URL without a route has none. */
export function meterRequest(metrics: Metrics, request: FastifyRequest): RequestMeter {
  const retryCount = request.headers["x-stainless-retry-count"];
  const route = request.is404 ? undefined : request.routeOptions.url;
  return metrics.requests.begin(route, typeof retryCount === "string" ? retryCount : undefined);
}

export function meterPart(meter: CompletionMeter, part: CompletionPart): void {
  if (part.kind === "admitted") meter.admitted();
  else if (part.kind === "usage" || part.choice.text === "") meter.used(part.usage);
  else meter.text(part.choice.index, part.usage);
}
