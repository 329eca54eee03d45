/** A server that answers as a test says, and what it was asked. */
import http, { type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import type { CompletionChunk } from "../../src/index.ts";
import { RemoteClient } from "../../src/library/remote-client.ts";

export interface Asked {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: Readonly<Record<string, unknown>>;
}

/** `index` counts the requests from 0. */
export type Respond = (response: ServerResponse, index: number, asked: Asked) => void;

export interface ScriptedServer {
  readonly url: string;
  readonly asked: readonly Asked[];
  readonly connections: () => number;
}

/** A server for the test that runs. */
export async function scriptedServer(respond: Respond): Promise<ScriptedServer> {
  const asked: Asked[] = [];
  let connections = 0;
  const server = http.createServer(async (request, response) => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const body = JSON.parse(Buffer.concat(pieces).toString() || "{}");
    const entry = { path: request.url ?? "", headers: request.headers, body };
    asked.push(entry);
    respond(response, asked.length - 1, entry);
  });
  server.on("connection", () => {
    connections += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, asked, connections: () => connections };
}

export interface TestClient {
  readonly client: RemoteClient;
  /** The waits between tries, in milliseconds; none is really waited. */
  readonly waits: readonly number[];
}

/** A client whose clock stands still and whose chance is none. */
export function testClient(url: string, options: { readonly timeoutMs?: number } = {}): TestClient {
  const waits: number[] = [];
  const { timeoutMs = 20_000 } = options;
  const client = new RemoteClient(
    { baseUrl: `${url}/v1`, headers: { authorization: "Bearer key" }, timeoutMs },
    {
      retriesMax: 2,
      random: () => 0,
      now: () => 0,
      sleep: async (delayMs) => {
        waits.push(delayMs);
      },
    },
  );
  onTestFinished(() => client.close());
  return { client, waits };
}

export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

/** A body that is worth another try with the right status. */
export const overloaded = {
  error: { message: "Busy, try later.", type: "server_error", param: null, code: null },
};

export const sse = { "content-type": "text/event-stream" };

export const answer = {
  id: "cmpl-1",
  object: "text_completion",
  created: 1_700_000_000,
  model: "m",
  choices: [{ text: "Hi", index: 0, logprobs: null, finish_reason: "stop" }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
};

export const chunk = (text: string) => ({
  ...answer,
  choices: [{ text, index: 0, logprobs: null, finish_reason: null }],
});

export function frames(...data: readonly (object | string)[]): string {
  return data
    .map((item) => `data: ${typeof item === "string" ? item : JSON.stringify(item)}\n\n`)
    .join("");
}

export async function textsOf(chunks: AsyncIterable<CompletionChunk>): Promise<string[]> {
  const texts: string[] = [];
  for await (const { choices } of chunks) texts.push(choices[0]?.text ?? "");
  return texts;
}
