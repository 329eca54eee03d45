/** Whether the process lives, whether requests should be sent to it, and what it is doing. */
import type { FastifyReply } from "fastify";
import type { ServerContext } from "./server-context.ts";

type HealthContext = Pick<ServerContext, "access" | "closing" | "health">;

/** GET /health: the engine's state with details; 503 while it cannot answer. */
export function answerHealth(context: HealthContext, reply: FastifyReply): object {
  const state = context.health();
  const shown = context.closing.begun ? { ...state, status: "draining" } : state;
  if (shown.status !== "ok") reply.code(503);
  return shown;
}

/** GET /health/live: 200 as long as the process answers. Restarting it would mend nothing. */
export const answerLive = (): object => ({ status: "ok" });

/** GET /health/ready: 200 while new requests can be answered, with the reason when not. */
export function answerReady(context: HealthContext, reply: FastifyReply): object {
  const state = notReady(context);
  if (state !== undefined) reply.code(503);
  return state ?? { status: "ok" };
}

function notReady({ access, closing, health }: HealthContext): object | undefined {
  if (closing.begun) return { status: "draining" };
  const { status, reason } = health();
  if (status !== "ok") return { status, ...(reason === undefined ? {} : { reason }) };
  if (access.health().writable) return undefined;
  return { status: "failed", reason: "the usage ledger cannot be written" };
}
