/** Servers and expectations of the tests that look at HTTP itself. */
import { afterEach, expect } from "vitest";
import type { ServerOptions } from "../server-options.ts";
import { fakeServer, oneChoice, RecordedLog } from "./fake-server.ts";
import { listen, RawClient } from "./raw-client.ts";

/** Run after each test, the last one first. */
export const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

export type Headers = Record<string, string>;

/** A server that answers every completion with the text, and ways to ask it. */
export function server(options: Partial<ServerOptions> = {}, text = "Hi") {
  const log = new RecordedLog();
  const app = fakeServer({ options, log }, () => oneChoice(text));
  cleanups.push(() => app.close());
  const ask = (
    method: "GET" | "POST" | "HEAD" | "PUT" | "DELETE" | "OPTIONS",
    url: string,
    headers: Headers = {},
    payload?: string | Buffer,
  ) =>
    app.inject({
      method,
      url,
      headers: { host: "localhost:8080", ...headers },
      ...(payload === undefined ? {} : { payload }),
    });
  const post = (
    payload: string | Buffer,
    headers: Headers = { "content-type": "application/json" },
  ) => ask("POST", "/v1/completions", headers, payload);
  const raw = async () => {
    const client = await RawClient.open(await listen(app));
    cleanups.push(() => client.close());
    return client;
  };
  return { app, log, ask, post, raw };
}

const envelope = {
  error: {
    message: expect.any(String),
    type: expect.any(String),
    param: null,
    code: expect.toSatisfy((code: unknown) => code === null || typeof code === "string"),
  },
};

/** Status, content type, request id and envelope of an error. */
export function expectError(
  answer: { statusCode: number; headers: object; json(): unknown },
  status: number,
) {
  expect(answer.statusCode).toBe(status);
  expect(answer.headers).toMatchObject({
    "content-type": "application/json",
    "x-request-id": expect.stringMatching(/^req_[0-9a-f]{32}$/),
  });
  expect(answer.headers).not.toHaveProperty("cache-control");
  expect(answer.json()).toEqual(envelope);
}

/** The answer of a raw client, taken apart. */
export function parsed(answer: string) {
  const [head = "", body = ""] = answer.split("\r\n\r\n");
  const [status = "", ...lines] = head.split("\r\n");
  const headers = Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    }),
  );
  return {
    statusCode: Number(status.split(" ")[1]),
    headers,
    json: () => JSON.parse(body) as unknown,
  };
}
