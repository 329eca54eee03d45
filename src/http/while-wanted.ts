/** Work for one request that ends when its client leaves, its time is up or the server has to go. */
import type { FastifyReply, FastifyRequest } from "fastify";
import { type ActiveRequest, ClientLeft } from "./active-requests.ts";
import { deadlineExceeded, requestTimeMs } from "./request-deadline.ts";
import { seenMs } from "./response-headers.ts";
import type { ServerContext } from "./server-context.ts";

/** Gives what the work gives; nothing is sent to a client that has left. */
export async function whileWanted(
  { active, options }: Pick<ServerContext, "active" | "options">,
  http: FastifyRequest,
  reply: FastifyReply,
  work: (signal: AbortSignal, request: ActiveRequest) => Promise<unknown>,
): Promise<unknown> {
  const timeMs = requestTimeMs(http, options.requestTimeMsMax);
  const request = active.begin(reply.raw);
  const { signal } = request;
  // The time began when the header came; what is left of it is counted from now.
  const leftMs = Math.max(0, seenMs(http) + timeMs - performance.now());
  const timer = setTimeout(() => request.abort(deadlineExceeded(timeMs)), leftMs);
  try {
    return await work(signal, request);
  } catch (error) {
    if (signal.reason instanceof ClientLeft) return dropReply(reply);
    // Aborted work may fail in any way; why it was aborted is what the client should read.
    throw signal.aborted ? signal.reason : error;
  } finally {
    clearTimeout(timer);
    request.end();
  }
}

/** Nobody is there to read an answer. */
function dropReply(reply: FastifyReply): FastifyReply {
  reply.hijack();
  reply.raw.destroy();
  return reply;
}
