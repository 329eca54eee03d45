/** A proxy that fails on command: it sees what a client does with an answer that went wrong. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export type Fault =
  /** Answered here instead of by the server behind. */
  | {
      readonly kind: "answer";
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body: string;
    }
  /** The connection breaks before an answer. */
  | { readonly kind: "drop" };

export interface SeenRequest {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

export class FaultProxy {
  /** All requests so far, failed ones too. */
  readonly seen: SeenRequest[] = [];
  /** `x-request-id` of every answer that came from the server behind. */
  readonly requestIds: (string | null)[] = [];
  readonly #faults: Fault[] = [];
  readonly #server: Server;
  readonly #target: string;

  private constructor(target: string) {
    this.#target = target;
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch(() => response.destroy());
    });
  }

  static async start(target: string): Promise<FaultProxy> {
    const proxy = new FaultProxy(target);
    proxy.#server.listen(0, "127.0.0.1");
    await once(proxy.#server, "listening");
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The next requests meet these faults, in this order; later ones reach the server. */
  fail(...faults: readonly Fault[]): void {
    this.#faults.push(...faults);
  }

  async stop(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, "close");
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const path = request.url ?? "/";
    const body = Buffer.concat(parts).toString();
    this.seen.push({ path, headers: request.headers, body });
    const fault = this.#faults.shift();
    if (fault === undefined) return this.#forward(request, body, response);
    if (fault.kind === "drop") request.socket.destroy();
    else response.writeHead(fault.status, fault.headers).end(fault.body);
  }

  async #forward(request: IncomingMessage, body: string, response: ServerResponse): Promise<void> {
    const { method = "GET", headers } = request;
    const answer = await fetch(this.#target + request.url, {
      method,
      headers: Object.entries(headers)
        .filter(([name]) => !["host", "connection", "content-length"].includes(name))
        .map(([name, value]): [string, string] => [name, String(value)]),
      ...(method === "GET" ? {} : { body }),
    });
    this.requestIds.push(answer.headers.get("x-request-id"));
    const encoded = ["content-encoding", "content-length", "transfer-encoding", "connection"];
    const passed = [...answer.headers].filter(([name]) => !encoded.includes(name));
    response.writeHead(answer.status, Object.fromEntries(passed));
    for await (const piece of answer.body ?? []) response.write(piece);
    response.end();
  }
}
