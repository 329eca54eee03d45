import type { FastifyRequest } from "fastify";
import { expect, test } from "vitest";
import { anybody } from "../access/unrecorded-access.ts";
import { callerOf, priorityHeader, rememberPrincipal } from "./caller.ts";

const requestWith = (headers: Record<string, string>) =>
  ({ id: "req_1", headers }) as unknown as FastifyRequest;

test("a request is interactive unless it says batch", () => {
  const interactive = { owner: "", request: "req_1", priority: "interactive" };
  expect(callerOf(requestWith({}))).toEqual(interactive);
  expect(callerOf(requestWith({ [priorityHeader]: "batch" }))).toEqual({
    ...interactive,
    priority: "batch",
  });
});

test("another priority is a 400", () => {
  const call = () => callerOf(requestWith({ [priorityHeader]: "urgent" }));
  expect(call).toThrow(expect.objectContaining({ status: 400 }));
});

test("the owner is the key's identity", () => {
  const request = requestWith({});
  rememberPrincipal(request, { ...anybody, owner: "digest" });
  expect(callerOf(request).owner).toBe("digest");
});
