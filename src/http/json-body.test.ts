import { describe, expect, test } from "vitest";
import { expectError, type Headers, parsed, server } from "./testing/transport.ts";

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
