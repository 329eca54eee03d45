/**
 * Connections of agent hosts over HTTP. A session lives until its host ends it, and belongs to the
 * key that began it; when there are too many, the one that was idle longest makes room.
 */
import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { isInitializeRequest, isJSONRPCRequest } from "@modelcontextprotocol/sdk/types.js";
import type { Principal } from "../access/access.ts";
import { createMcpServer, type McpServerParts } from "./mcp-server.ts";

/** Sessions kept at once. */
export const sessionsMax = 64;

interface Session {
  readonly server: Server;
  readonly transport: StreamableHTTPServerTransport;
  readonly principal: Principal;
  /** HTTP exchanges that are open; a host that listens has one all the time. */
  open: number;
}

export interface HttpExchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Whose key came with it. */
  readonly principal: Principal;
  /** The parsed body; undefined where there is none. */
  readonly body: unknown;
}

export type Refusal = { readonly status: number; readonly message: string };

export class HttpSessions {
  readonly #parts: McpServerParts;
  /** The one that was used last is at the end. */
  readonly #sessions = new Map<string, Session>();

  constructor(parts: McpServerParts) {
    this.#parts = parts;
  }

  get size(): number {
    return this.#sessions.size;
  }

  /** Hands the exchange to its session, or says why there is none for it. */
  async handle(exchange: HttpExchange): Promise<Refusal | undefined> {
    const id = exchange.request.headers["mcp-session-id"];
    const known = typeof id === "string" ? this.#sessions.get(id) : undefined;
    if (known !== undefined && known.principal.owner === exchange.principal.owner) {
      await this.#serve(known, exchange);
      return undefined;
    }
    if (id !== undefined) return { status: 404, message: "Session not found" };
    if (!isInitializeRequest(exchange.body)) {
      return { status: 400, message: "A session begins with an initialize request" };
    }
    if (!this.#makeRoom()) return { status: 503, message: "Too many sessions are in use" };
    await this.#serve(await this.#create(exchange.principal), exchange);
    return undefined;
  }

  async close(): Promise<void> {
    const sessions = [...this.#sessions.values()];
    this.#sessions.clear();
    await Promise.all(sessions.map(({ server }) => server.close()));
  }

  async #create(principal: Principal): Promise<Session> {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => {
        this.#sessions.set(id, session);
      },
    });
    const server = createMcpServer({ ...this.#parts, principal });
    const session: Session = { server, transport, principal, open: 0 };
    // The SDK's own type of its callbacks is at odds with exactOptionalPropertyTypes.
    await server.connect(transport as Transport);
    server.onclose = () => {
      if (transport.sessionId !== undefined) this.#sessions.delete(transport.sessionId);
    };
    return session;
  }

  async #serve(session: Session, { request, response, body }: HttpExchange): Promise<void> {
    session.open += 1;
    response.once("close", () => {
      session.open -= 1;
      this.#touch(session);
      // Nothing is kept for a host that comes back, so nobody could read these answers.
      if (!response.writableFinished) cancelCalls(session.transport, body);
    });
    this.#touch(session);
    await session.transport.handleRequest(request, response, body);
  }

  #touch(session: Session): void {
    const id = session.transport.sessionId;
    if (id === undefined || !this.#sessions.delete(id)) return;
    this.#sessions.set(id, session);
  }

  #makeRoom(): boolean {
    if (this.#sessions.size < sessionsMax) return true;
    for (const [id, session] of this.#sessions) {
      if (session.open > 0) continue;
      this.#sessions.delete(id);
      void session.server.close();
      return true;
    }
    return false;
  }
}

/** Says to the protocol what the host would have said. */
function cancelCalls(transport: StreamableHTTPServerTransport, body: unknown): void {
  for (const message of Array.isArray(body) ? body : [body]) {
    if (!isJSONRPCRequest(message)) continue;
    transport.onmessage?.({
      jsonrpc: "2.0",
      method: "notifications/cancelled",
      params: { requestId: message.id, reason: "the connection was closed" },
    });
  }
}
