/** Who sent a request and how urgent it is, for the scheduler's turns and for its prefix cache. */
import type { FastifyRequest } from "fastify";
import { ApiError } from "../contract/errors.ts";
import type { Caller } from "../engine/engine.ts";

/** `batch` requests wait while interactive ones want a slot. */
export const priorityHeader = "x-completionist-priority";

/** Without keys all requests have one owner. */
const owners = new WeakMap<FastifyRequest, string>();

export function rememberOwner(request: FastifyRequest, owner: string): void {
  owners.set(request, owner);
}

/** Throws an ApiError for a priority that does not exist. */
export function callerOf(request: FastifyRequest): Caller {
  const priority = request.headers[priorityHeader] ?? "interactive";
  if (priority !== "interactive" && priority !== "batch") {
    const reason = `the header ${priorityHeader} must be interactive or batch`;
    throw new ApiError("badRequest", { reason });
  }
  return { owner: owners.get(request) ?? "", request: request.id, priority };
}
