/** Work for one request that ends when its client leaves or the server has to go. */
import type { FastifyReply } from "fastify";
import { type ActiveRequests, ClientLeft } from "./active-requests.ts";

/** Gives what the work gives; nothing is sent to a client that has left. */
export async function whileWanted(
  active: ActiveRequests,
  reply: FastifyReply,
  work: (signal: AbortSignal) => Promise<unknown>,
): Promise<unknown> {
  const signal = active.signalFor(reply.raw);
  try {
    return await work(signal);
  } catch (error) {
    if (signal.reason instanceof ClientLeft) return dropReply(reply);
    // Aborted work may fail in any way; why it was aborted is what the client should read.
    throw signal.aborted ? signal.reason : error;
  }
}

/** Nobody is there to read an answer. */
function dropReply(reply: FastifyReply): FastifyReply {
  reply.hijack();
  reply.raw.destroy();
  return reply;
}
