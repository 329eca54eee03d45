/** Who sent a request and how urgent it is, for the scheduler's turns and for its prefix cache. */
import type { FastifyRequest } from "fastify";
import type { Principal } from "../access/access.ts";
import { anybody } from "../access/unrecorded-access.ts";
import { ApiError } from "../contract/errors.ts";
import type { Caller } from "../engine/engine.ts";

/** `batch` requests wait while interactive ones want a slot. */
export const priorityHeader = "x-completionist-priority";

const principals = new WeakMap<FastifyRequest, Principal>();

export function rememberPrincipal(request: FastifyRequest, principal: Principal): void {
  principals.set(request, principal);
}

/** Who authenticated; on routes that are open to all, anybody. */
export function principalOf(request: FastifyRequest): Principal {
  return principals.get(request) ?? anybody;
}

/** Throws an ApiError for a priority that does not exist. */
export function callerOf(request: FastifyRequest): Caller {
  const priority = request.headers[priorityHeader] ?? "interactive";
  if (priority !== "interactive" && priority !== "batch") {
    const reason = `the header ${priorityHeader} must be interactive or batch`;
    throw new ApiError("badRequest", { reason });
  }
  return { owner: principalOf(request).owner, request: request.id, priority };
}
