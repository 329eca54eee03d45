/** A collector of traces on 127.0.0.1 that keeps what it gets, or misbehaves. */
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { type ReadSpan, readSpans } from "./otlp-reader.ts";

export interface Post {
  readonly url: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export class OtlpCollector {
  readonly posts: Post[] = [];
  readonly spans: ReadSpan[] = [];
  readonly #server: Server;

  private constructor(answer: "ok" | "never" | 500) {
    this.#server = createServer(async (request, response) => {
      const body = Buffer.concat(await request.toArray());
      this.posts.push({ url: request.url, headers: request.headers, body });
      this.spans.push(...readSpans(body));
      if (answer !== "never") response.writeHead(answer === "ok" ? 200 : answer).end();
    });
  }

  static async start(answer: "ok" | "never" | 500 = "ok"): Promise<OtlpCollector> {
    const collector = new OtlpCollector(answer);
    await new Promise<void>((resolve) => collector.#server.listen(0, "127.0.0.1", resolve));
    return collector;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}
