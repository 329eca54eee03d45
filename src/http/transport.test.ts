import { gunzipSync } from "node:zlib";
import { afterEach, describe, expect, test } from "vitest";
import type { ServerOptions } from "./server-options.ts";
import {
  aborted,
  choicePart,
  fakeServer,
  gate,
  oneChoice,
  RecordedLog,
} from "./testing/fake-server.ts";
import { listen, RawClient } from "./testing/raw-client.ts";

const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

type Headers = Record<string, string>;

function server(options: Partial<ServerOptions> = {}, text = "Hi") {
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

function expectError(
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
function parsed(answer: string) {
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

describe("the body", () => {
  const accepted: readonly [string, string | Buffer, Headers][] = [
    ["JSON", "{}", { "content-type": "application/json" }],
    ["JSON with a charset", "{}", { "content-type": "application/json; charset=utf-8" }],
    ["JSON in capitals", "{}", { "content-type": "Application/JSON" }],
    ["a +json type", "{}", { "content-type": "application/vnd.api+json" }],
    ["a byte order mark", "\ufeff{}", { "content-type": "application/json" }],
    [
      "a form type, as curl -d sends it",
      "{}",
      { "content-type": "application/x-www-form-urlencoded" },
    ],
    ["text", "{}", { "content-type": "text/plain" }],
    ["no type", Buffer.from("{}"), {}],
    [
      "JSON from a page of this machine",
      "{}",
      { "content-type": "application/json", origin: "http://localhost:3000" },
    ],
    [
      "identity encoding",
      "{}",
      { "content-type": "application/json", "content-encoding": "identity" },
    ],
    [
      "duplicate keys, of which the last counts",
      '{"n":"x","n":1}',
      { "content-type": "application/json" },
    ],
    [
      "deep nesting that stays in bounds",
      `{"x":${"[".repeat(60)}${"]".repeat(60)}}`,
      { "content-type": "application/json" },
    ],
    [
      "brackets in strings",
      `{"prompt":${JSON.stringify('["\\"['.repeat(100))}}`,
      { "content-type": "application/json" },
    ],
  ];
  test.each(accepted)("may be %s", async (_, payload, headers) => {
    expect((await server().post(payload, headers)).statusCode).toBe(200);
  });

  const unsupported: readonly [string, string, Headers][] = [
    ["XML", "{}", { "content-type": "application/xml" }],
    ["bytes", "{}", { "content-type": "application/octet-stream" }],
    ["no media type", "{}", { "content-type": "what" }],
    [
      "a form that holds no JSON",
      "prompt=x",
      { "content-type": "application/x-www-form-urlencoded" },
    ],
    ["text that holds no object", "[]", { "content-type": "text/plain" }],
    ["text from a page", "{}", { "content-type": "text/plain", origin: "http://localhost:3000" }],
    ["no type from a page", "{}", { "content-type": "", origin: "http://localhost:3000" }],
    ["gzip", "{}", { "content-type": "application/json", "content-encoding": "gzip" }],
  ];
  test.each(unsupported)("that is %s is a 415", async (_, payload, headers) => {
    const answer = await server().post(payload, headers);
    expectError(answer, 415);
    expect(answer.json().error.code).toBe("unsupported_media_type");
  });

  test.each<[string, string | Buffer]>([
    ["empty", ""],
    ["cut off", '{"prompt":'],
    ["a single quote", "'"],
    ["no JSON", "{prompt:1}"],
    ["invalid UTF-8", Buffer.from([0x22, 0xff, 0x22])],
    ["two values", "{}{}"],
  ])("that is %s could not be parsed", async (_, payload) => {
    const answer = await server().post(payload);
    expectError(answer, 400);
    expect(answer.json().error.message).toMatch(/^We could not parse the JSON body/);
  });

  test.each(["null", "[]", '"x"', "5", "true"])("that is %s is no object", async (payload) => {
    const answer = await server().post(payload);
    expectError(answer, 400);
    expect(answer.json().error.message).toMatch(/must be an object/);
  });

  test.each(["[", '{"a":', '[[{"x":['])("nested without end by %j is refused", async (opening) => {
    const answer = await server().post(opening.repeat(100_000));
    expectError(answer, 400);
    expect(answer.json().error.message).toContain("nested deeper than 64 levels");
  });

  test("a request without any is refused", async () => {
    expectError(await server().ask("POST", "/v1/completions"), 400);
  });

  test("over the limit is a 413, announced or not, and the client gets to read it", async () => {
    const { raw, post } = server({ bodyBytesMax: 1000 });
    expectError(await post(`"${"x".repeat(2000)}"`), 413);
    expect((await post(`{"prompt":"${"x".repeat(985)}"}`)).statusCode).toBe(200);
    const client = await raw();
    client.send(
      "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n",
    );
    for (let sent = 0; sent < 40; sent += 1) client.send(`64\r\n${"x".repeat(100)}\r\n`);
    client.send("0\r\n\r\n");
    const answer = parsed(await client.end());
    expectError(answer, 413);
    expect(answer.json()).toMatchObject({ error: { code: "request_too_large" } });
  });

  test("that does not arrive in time is a 408", async () => {
    const { raw } = server({ requestTimeoutMs: 30, headersTimeoutMs: 30, timeoutCheckMs: 5 });
    const client = await raw();
    client.send("POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{");
    const answer = parsed(await client.end());
    expectError(answer, 408);
    expect(answer.json()).toMatchObject({ error: { code: "request_timeout" } });
  });
});

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
      client.send("GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n");
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
