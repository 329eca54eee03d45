/** The library against servers that fail: what is tried again, what is thrown. */
import { describe, expect, test } from "vitest";
import { ApiError, ConnectionError, connect } from "../../src/index.ts";
import { RemoteApiError } from "../../src/library/remote-error.ts";
import {
  answer,
  chunk,
  frames,
  overloaded,
  scriptedServer,
  sendJson,
  sse,
  testClient,
  textsOf,
} from "./support.ts";

describe("trying again", () => {
  test.each([408, 409, 429, 500, 503])("after status %i, twice", async (status) => {
    const server = await scriptedServer((response, index) => {
      if (index < 2) sendJson(response, status, overloaded);
      else sendJson(response, 200, answer);
    });
    const { client, waits } = testClient(server.url);
    expect(await client.create({ prompt: "a" })).toEqual(answer);
    expect(waits).toEqual([500, 1000]);
    expect(server.asked.map(({ body }) => body.prompt)).toEqual(["a", "a", "a"]);
  });

  test("ends after the second retry, with the error", async () => {
    const server = await scriptedServer((response) => sendJson(response, 503, overloaded));
    const { client } = testClient(server.url);
    await expect(client.create({})).rejects.toMatchObject({
      status: 503,
      message: "Busy, try later.",
    });
    expect(server.asked).toHaveLength(3);
  });

  test("waits as long as the server says, and not where it says no", async () => {
    const server = await scriptedServer((response, index) => {
      response.setHeader("retry-after-ms", "1234");
      if (index === 1) response.setHeader("x-should-retry", "false");
      sendJson(response, 429, overloaded);
    });
    const { client, waits } = testClient(server.url);
    await expect(client.create({})).rejects.toMatchObject({ status: 429 });
    expect(waits).toEqual([1234]);
  });

  test("after a connection that was closed or an answer that was cut", async () => {
    const server = await scriptedServer((response, index) => {
      if (index === 0) return void response.destroy();
      if (index === 2) return sendJson(response, 200, answer);
      response.writeHead(200, { "content-length": 100 }).write("{", () => response.destroy());
    });
    const { client, waits } = testClient(server.url);
    expect(await client.create({})).toEqual(answer);
    expect(waits).toEqual([500, 1000]);
  });

  test("after an answer that does not begin in time", async () => {
    const server = await scriptedServer((response, index) => {
      if (index > 0) sendJson(response, 200, answer);
    });
    const { client, waits } = testClient(server.url, { timeoutMs: 100 });
    expect(await client.create({})).toEqual(answer);
    expect(waits).toEqual([500]);
  });

  test("a stream, until it begins", async () => {
    const server = await scriptedServer((response, index) => {
      if (index === 0) return sendJson(response, 503, overloaded);
      response.writeHead(200, sse).write(frames(chunk("a")), () => response.destroy());
    });
    const { client } = testClient(server.url);
    await expect(textsOf(client.stream({}))).rejects.toMatchObject({ reason: "cut" });
    expect(server.asked).toHaveLength(2);
  });

  test("never what the server refuses", async () => {
    const server = await scriptedServer((response) => sendJson(response, 400, overloaded));
    const { client } = testClient(server.url);
    await expect(client.create({})).rejects.toMatchObject({ status: 400 });
    expect(server.asked).toHaveLength(1);
  });
});

describe("errors of the server", () => {
  async function errorOf(status: number, body: string): Promise<RemoteApiError> {
    const server = await scriptedServer((response) => {
      response.writeHead(status, { "x-request-id": "req_1", "x-should-retry": "false" }).end(body);
    });
    const error = await testClient(server.url)
      .client.create({})
      .catch((thrown) => thrown);
    expect(error).toBeInstanceOf(ApiError);
    return error as RemoteApiError;
  }

  test("are its envelope, taken literally", async () => {
    const said = {
      message: "No {model} here",
      type: "invalid_request_error",
      param: "model",
      code: "model_not_found",
    };
    const error = await errorOf(404, JSON.stringify({ error: said }));
    expect(error).toBeInstanceOf(RemoteApiError);
    expect([error.status, error.body().error, error.requestId]).toEqual([404, said, "req_1"]);
    expect([error.name, error.errorName]).toEqual(["ApiError", undefined]);
  });

  test.each([
    [
      400,
      '{"object":"error","message":"too long","type":"BadRequest","code":400}',
      "too long",
      "400",
    ],
    [422, '{"detail":"wrong field"}', "wrong field", null],
    [500, '{"error":"it broke"}', "it broke", null],
    [502, "<h1>Bad Gateway</h1>", "<h1>Bad Gateway</h1>", null],
    [503, "", "the server answered 503 and nothing else", null],
    [500, '{"error":{}}', '{"error":{}}', null],
    [400, "[1]", "[1]", null],
  ])("with status %i and body %s have a message", async (status, body, message, code) => {
    expect(await errorOf(status, body)).toMatchObject({ status, message, code, param: null });
  });
});

describe("what is no server", () => {
  test("names what could not be reached", async () => {
    const { client, waits } = testClient("http://127.0.0.1:1");
    const call = client.create({});
    await expect(call).rejects.toBeInstanceOf(ConnectionError);
    await expect(call).rejects.toMatchObject({ reason: "connect" });
    await expect(call).rejects.toThrow("http://127.0.0.1:1 refused the connection");
    expect(waits).toEqual([500, 1000]);
  });

  test("and speaks of something else is malformed, once", async () => {
    const server = await scriptedServer((response) => void response.end("hello"));
    const { client } = testClient(server.url);
    await expect(client.create({})).rejects.toMatchObject({ reason: "malformed" });
    expect(server.asked).toHaveLength(1);
  });

  test.each(["", "127.0.0.1:8080", "ftp://x", undefined])("base URL %j is refused", (baseUrl) => {
    expect(() => connect({ baseUrl: baseUrl as string })).toThrow(TypeError);
  });
});
