/** How the server treats connections: how many, how their bodies are read, how they are given up. */
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { ApiError } from "../contract/errors.ts";
import type { ServerContext } from "./server-context.ts";
import { UnusedConnections } from "./unused-connections.ts";

export function prepareConnections(app: FastifyInstance, context: ServerContext): void {
  const { bodies, metrics, options } = context;
  const { server } = app;
  server.maxConnections = options.connectionsMax;
  server.on("drop", () => metrics.requests.connectionRefused());
  const unused = new UnusedConnections(server);
  app.addHook("preClose", async () => unused.closeAll());
  // Bodies of all types are read as bytes; what they may be is decided in one place, json-body.ts.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", (_: FastifyRequest, body: IncomingMessage) => bodies.read(body));
  // Expectations other than 100-continue are ignored instead of refused with an empty answer.
  server.on("checkExpectation", (request, response) => {
    server.emit("request", request, response);
  });
  // Behind an answer that is still due, Node would write "100 Continue" into the middle of the next.
  server.on("checkContinue", (request, response) => {
    if (response.socket !== null) response.writeContinue();
    server.emit("request", request, response);
  });
}

/** A pipelined request that finds too many before it may come again when those are answered. */
const pipelineFreeMs = 1000;

/** Requests of each connection that are not answered yet. */
export class Pipelines {
  readonly #open = new WeakMap<Socket, number>();
  readonly #requestsMax: number;

  constructor(requestsMax: number) {
    this.#requestsMax = requestsMax;
  }

  /** Counts the request until its answer is done. Throws an ApiError when there are too many. */
  enter({ raw: { socket } }: FastifyRequest, { raw }: FastifyReply): void {
    const before = this.#open.get(socket) ?? 0;
    this.#open.set(socket, before + 1);
    raw.once("close", () => this.#open.set(socket, (this.#open.get(socket) ?? 1) - 1));
    if (before < this.#requestsMax) return;
    const retry = { shouldRetry: true, retryAfterMs: pipelineFreeMs };
    throw new ApiError("overloaded", {}, { retry });
  }
}
