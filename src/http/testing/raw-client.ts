/** HTTP by hand over a socket, for tests that look at bytes. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import type { FastifyInstance } from "fastify";

/** Starts the server on a free port of 127.0.0.1. */
export async function listen(app: FastifyInstance): Promise<number> {
  await app.listen({ host: "127.0.0.1", port: 0 });
  const address = app.server.address();
  if (address === null || typeof address === "string") throw new Error("the server has no port");
  return address.port;
}

export class RawClient {
  readonly #socket: Socket;
  readonly #changed = new EventTarget();
  /** Pieces as they came: joined only when asked for, since answers may be long. */
  #pieces: string[] = [];
  #ended = false;

  constructor(socket: Socket) {
    this.#socket = socket;
    const changed = () => this.#changed.dispatchEvent(new Event("change"));
    socket.setEncoding("utf8");
    socket.on("data", (text: string) => {
      this.#pieces.push(text);
      changed();
    });
    socket.on("error", () => {});
    socket.on("close", () => {
      this.#ended = true;
      changed();
    });
  }

  static async open(port: number): Promise<RawClient> {
    const socket = connect(port, "127.0.0.1");
    await once(socket, "connect");
    return new RawClient(socket);
  }

  get received(): string {
    this.#pieces = [this.#pieces.join("")];
    return this.#pieces[0] ?? "";
  }

  send(text: string): void {
    this.#socket.write(text);
  }

  /** A POST to /v1/completions with a JSON body. */
  post(body: object, headers: readonly string[] = []): void {
    const text = JSON.stringify(body);
    const head = [
      "POST /v1/completions HTTP/1.1",
      "Host: 127.0.0.1",
      "Content-Type: application/json",
      `Content-Length: ${Buffer.byteLength(text)}`,
      ...headers,
    ];
    this.send(`${head.join("\r\n")}\r\n\r\n${text}`);
  }

  /** Everything received, as soon as it contains the text. Fails when the connection ends first. */
  async until(text: string): Promise<string> {
    let seen = this.received;
    let looked = 1;
    while (!seen.includes(text)) {
      if (this.#ended) throw new Error(`the connection ended after ${this.received}`);
      await once(this.#changed, "change");
      // The end of what was looked at, and all that came since.
      seen = seen.slice(-text.length) + this.#pieces.slice(looked).join("");
      looked = this.#pieces.length;
    }
    return this.received;
  }

  /** Everything received until the server closed the connection. */
  async end(): Promise<string> {
    while (!this.#ended) await once(this.#changed, "change");
    return this.received;
  }

  stopReading(): void {
    this.#socket.pause();
  }

  startReading(): void {
    this.#socket.resume();
  }

  /** Sends nothing more; answers can still come. */
  finish(): void {
    this.#socket.end();
  }

  close(): void {
    this.#socket.destroy();
  }
}

/** The body of a chunked answer, one entry for each chunk as it was written. */
export function chunksOf(answer: string): readonly string[] {
  const body = Buffer.from(answer.slice(answer.indexOf("\r\n\r\n") + 4));
  const chunks: string[] = [];
  let at = 0;
  while (at < body.length) {
    const lineEnd = body.indexOf("\r\n", at);
    const length = Number.parseInt(body.subarray(at, lineEnd).toString(), 16);
    if (length === 0) break;
    chunks.push(body.subarray(lineEnd + 2, lineEnd + 2 + length).toString());
    at = lineEnd + 2 + length + 2;
  }
  return chunks;
}
