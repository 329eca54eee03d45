import { gunzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { aborted, choicePart, fakeServer, gate, oneChoice } from "./testing/fake-server.ts";
import { listen, RawClient } from "./testing/raw-client.ts";
import { cleanups, expectError, type Headers, parsed, server } from "./testing/transport.ts";

describe("methods and URLs", () => {
  test.each(["GET", "PUT", "DELETE"] as const)("%s on a POST route is a 405", async (method) => {
    const answer = await server().ask(method, "/v1/completions?x=1");
    expectError(answer, 405);
    expect(answer.headers.allow).toBe("POST");
    expect(answer.json().error.message).toBe(
      `Not allowed to ${method} on /v1/completions. (HINT: Perhaps you meant to use a different HTTP method?)`,
    );
  });

  test("HEAD on a POST route is a 405 without a body", async () => {
    const answer = await server().ask("HEAD", "/v1/completions");
    expect([answer.statusCode, answer.headers.allow, answer.body]).toEqual([405, "POST", ""]);
  });

  test("HEAD works where GET does", async () => {
    const answer = await server().ask("HEAD", "/v1/models");
    expect([answer.statusCode, answer.body]).toEqual([200, ""]);
  });

  test("POST on a GET route is a 405", async () => {
    const answer = await server().ask("POST", "/v1/models", {}, "{}");
    expectError(answer, 405);
    expect(answer.headers.allow).toBe("GET, HEAD");
    expectError(await server().ask("GET", "/v1/engines/fake/completions"), 405);
  });

  test("rare methods are refused in the envelope too", async () => {
    const client = await server().raw();
    client.send(
      "PROPFIND /v1/completions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    );
    expectError(parsed(await client.end()), 405);
  });

  test("OPTIONS that is no preflight names the methods", async () => {
    const answer = await server().ask("OPTIONS", "/v1/completions");
    expect([answer.statusCode, answer.headers.allow]).toEqual([204, "POST"]);
  });

  test.each(["/", "/v1", "/v1/complete", "/v2/completions", "/v1/engines/fake/embeddings"])(
    "POST %s is an unknown URL",
    async (url) => {
      const answer = await server().ask("POST", url, {}, "not json");
      expectError(answer, 404);
      expect(answer.json().error).toMatchObject({
        message: `Invalid URL (POST ${url})`,
        code: "unknown_url",
      });
    },
  );

  test("chat is told to use completions", async () => {
    const answer = await server().ask("POST", "/v1/chat/completions", {}, "{}");
    expectError(answer, 404);
    expect(answer.json().error.code).toBe("unknown_url");
    expect(answer.json().error.message).toMatch(/Did you mean to use v1\/completions\?$/);
  });

  test("a URL that cannot be decoded is a 400, a very long one a 404", async () => {
    expectError(await server().ask("GET", "/v1/models/%zz"), 400);
    expectError(await server().ask("GET", `/v1/${"x".repeat(5000)}`), 404);
  });
});

describe("malformed HTTP", () => {
  test.each<[string, string, number]>([
    ["noise", "hello\r\n\r\n", 400],
    [
      "a bad Content-Length",
      "POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n",
      400,
    ],
    ["a TLS handshake", "\x16\x03\x01\x02\x00\x01\x00", 400],
    ["a header without end", `GET / HTTP/1.1\r\nHost: a\r\nX: ${"x".repeat(100_000)}\r\n\r\n`, 431],
    [
      "two Hosts",
      "GET /health HTTP/1.1\r\nHost: a\r\nHost: localhost\r\nConnection: close\r\n\r\n",
      400,
    ],
    ["a missing Host", "GET /health HTTP/1.1\r\nConnection: close\r\n\r\n", 400],
  ])("%s is answered in the envelope", async (_, bytes, status) => {
    const client = await server().raw();
    client.send(bytes);
    expectError(parsed(await client.end()), status);
  });

  test("after a stream has begun only closes the connection", async () => {
    const stopped = gate();
    const app = fakeServer({}, async function* (_, signal) {
      yield { kind: "admitted" };
      yield choicePart({ text: "a" });
      await aborted(signal);
      stopped.open();
      throw signal.reason;
    });
    cleanups.push(() => app.close());
    const client = await RawClient.open(await listen(app));
    client.post({ stream: true });
    await client.until("data:");
    client.send("garbage\r\n\r\n");
    expect(await client.end()).not.toContain("400 Bad Request");
    await stopped.opened;
  });

  test("HTTP/1.0 needs no Host", async () => {
    const client = await server().raw();
    client.send("GET /health HTTP/1.0\r\n\r\n");
    expect(parsed(await client.end()).statusCode).toBe(200);
  });

  test("an offer to upgrade is ignored", async () => {
    const client = await server().raw();
    client.post({}, ["Connection: Upgrade, close", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQ"]);
    expect(parsed(await client.end()).statusCode).toBe(200);
  });

  test("an unknown expectation is ignored", async () => {
    const client = await server().raw();
    client.send(
      "GET /health HTTP/1.1\r\nHost: localhost\r\nExpect: magic\r\nConnection: close\r\n\r\n",
    );
    expect(parsed(await client.end()).statusCode).toBe(200);
  });
});

describe("request ids", () => {
  test("of the client come back beside our own, if they are valid", async () => {
    const { ask } = server();
    const echoed = async (headers: Headers) =>
      (await ask("GET", "/health", headers)).headers["x-client-request-id"];
    expect(await echoed({ "x-request-id": "abc-123" })).toBe("abc-123");
    expect(await echoed({ "x-client-request-id": "mine", "x-request-id": "other" })).toBe("mine");
    expect(await echoed({ "x-request-id": "has space" })).toBeUndefined();
    expect(await echoed({ "x-request-id": "x".repeat(201) })).toBeUndefined();
    const first = (await ask("GET", "/health")).headers["x-request-id"];
    expect((await ask("GET", "/health")).headers["x-request-id"]).not.toBe(first);
  });

  test("stand in the log with status and path, without the query", async () => {
    const { app, log, raw } = server();
    const client = await raw();
    client.send("GET /health?secret=1 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    const { headers } = parsed(await client.end());
    await app.close();
    expect(log.lines).toMatchObject([
      {
        level: "info",
        fields: { requestId: headers["x-request-id"], status: 200, path: "/health" },
      },
    ]);
  });
});

describe("compression", () => {
  const long = "word ".repeat(1000);

  test("is used for long responses when the client takes gzip", async () => {
    const { post } = server({}, long);
    const type = { "content-type": "application/json" };
    const answer = await post("{}", { ...type, "accept-encoding": "br, gzip;q=0.5" });
    expect(answer.headers["content-encoding"]).toBe("gzip");
    expect(answer.headers.vary).toContain("Accept-Encoding");
    const body = gunzipSync(answer.rawPayload);
    expect(JSON.parse(body.toString()).choices[0].text).toBe(long);
    expect(Number(answer.headers["content-length"] ?? answer.rawPayload.length)).toBe(
      answer.rawPayload.length,
    );
    for (const accept of ["identity", "gzip;q=0", "br", ""]) {
      const plain = await post("{}", { ...type, "accept-encoding": accept });
      expect(plain.headers).not.toHaveProperty("content-encoding");
      expect(plain.json().choices[0].text).toBe(long);
    }
  });

  test("is not used for short ones", async () => {
    const { post } = server();
    const answer = await post("{}", {
      "content-type": "application/json",
      "accept-encoding": "gzip",
    });
    expect(answer.headers).not.toHaveProperty("content-encoding");
  });
});

describe("closing", () => {
  test("lets a running request end and then closes its connection", async () => {
    const running = gate();
    const go = gate();
    const app = fakeServer({}, async function* () {
      running.open();
      await go.opened;
      yield* oneChoice("late");
    });
    const closing = gate();
    app.addHook("preClose", async () => closing.open());
    const client = await RawClient.open(await listen(app));
    cleanups.push(() => client.close());
    client.post({});
    await running.opened;
    const closed = app.close();
    await closing.opened;
    go.open();
    expect(await client.end()).toMatch(/\r\nconnection: close\r\n[\s\S]*late/);
    await closed;
  });

  test("refuses requests that arrive meanwhile", async () => {
    const app = fakeServer();
    let port = 0;
    let answer = "";
    app.addHook("preClose", async () => {
      const client = await RawClient.open(port);
      client.send("GET /models HTTP/1.1\r\nHost: localhost\r\n\r\n");
      answer = await client.end();
    });
    port = await listen(app);
    await app.close();
    expectError(parsed(answer), 503);
    expect(parsed(answer).headers).toMatchObject({
      "x-should-retry": "true",
      connection: "close",
    });
  });
});
