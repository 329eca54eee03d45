import { afterEach, describe, expect, test } from "vitest";
import { maskKey } from "../access/bearer-key.ts";
import type { ServerOptions } from "./server-options.ts";
import { fakeServer } from "./testing/fake-server.ts";

const apps: ReturnType<typeof fakeServer>[] = [];

afterEach(async () => {
  await Promise.all(apps.splice(0).map((app) => app.close()));
});

type Headers = Record<string, string>;
type Method = "GET" | "POST" | "OPTIONS";

function server(options: Partial<ServerOptions> = {}) {
  const app = fakeServer({ options });
  apps.push(app);
  return (method: Method, url: string, headers: Headers = {}) =>
    app.inject({
      method,
      url,
      headers: { host: "127.0.0.1:8080", "content-type": "application/json", ...headers },
      ...(method === "POST" ? { payload: "{}" } : {}),
    });
}

const key = "sk-0123456789abcdefghijkl";
const completions = "/v1/completions";

describe("with keys", () => {
  const keyed = () => server({ apiKeys: ["another-key", key] });

  test("the right one is accepted, whatever the case of the scheme", async () => {
    for (const scheme of ["Bearer", "bearer", "BEARER "]) {
      const answer = await keyed()("POST", completions, { authorization: `${scheme} ${key}` });
      expect(answer.statusCode).toBe(200);
    }
  });

  test.each([
    {},
    { authorization: "" },
    { authorization: "Bearer " },
    { authorization: "Basic eDp5" },
  ])("%j carries none", async (headers: Headers) => {
    const answer = await keyed()("POST", completions, headers);
    expect(answer.statusCode).toBe(401);
    expect(answer.json().error).toMatchObject({
      type: "invalid_request_error",
      param: null,
      code: null,
    });
    expect(answer.json().error.message).toMatch(/^You didn't provide an API key\./);
    expect(answer.headers["www-authenticate"]).toBe("Bearer");
    expect(answer.headers["x-request-id"]).toMatch(/^req_/);
    for (const name of ["openai-version", "openai-organization", "openai-processing-ms"]) {
      expect(answer.headers).not.toHaveProperty(name);
    }
  });

  test.each([`${key}x`, key.slice(0, -1), key.toUpperCase(), "a"])("%s is wrong", async (wrong) => {
    const answer = await keyed()("POST", completions, { authorization: `Bearer ${wrong}` });
    expect(answer.statusCode).toBe(401);
    expect(answer.json().error.code).toBe("invalid_api_key");
    expect(answer.json().error.message).toMatch(/^Incorrect API key provided: [^ ]*\*\*\*\*/);
    expect(answer.body).not.toContain(wrong.length > 1 ? wrong : `${wrong}*x`);
  });

  test("a stranger learns neither models nor routes", async () => {
    const ask = keyed();
    for (const url of ["/v1/models", "/v1/models/fake", "/v1/nothing", "/v1/tokenizer_info"]) {
      expect((await ask("GET", url)).statusCode).toBe(401);
    }
    expect((await ask("GET", completions)).statusCode).toBe(401);
  });

  test("health and the OpenAPI document are open", async () => {
    expect((await keyed()("GET", "/health")).statusCode).toBe(200);
    expect((await keyed()("GET", "/openapi.json")).statusCode).toBe(200);
  });

  test("any Host and any origin may call, and pages may read", async () => {
    const answer = await keyed()("POST", completions, {
      authorization: `Bearer ${key}`,
      host: "example.org",
      origin: "https://example.com",
    });
    expect(answer.statusCode).toBe(200);
    expect(answer.headers).toMatchObject({
      "access-control-allow-origin": "*",
      "access-control-expose-headers": "X-Request-ID",
    });
  });

  test("errors can be read by pages as well", async () => {
    const answer = await keyed()("POST", completions, { origin: "https://example.com" });
    expect(answer.headers["access-control-allow-origin"]).toBe("*");
  });

  test("origins may be narrowed", async () => {
    const ask = server({ apiKeys: [key], cors: ["https://a.example"] });
    const headers = { authorization: `Bearer ${key}` };
    const good = await ask("POST", completions, { ...headers, origin: "https://a.example" });
    expect(good.headers).toMatchObject({
      "access-control-allow-origin": "https://a.example",
      vary: expect.stringContaining("Origin"),
    });
    const other = await ask("POST", completions, { ...headers, origin: "https://b.example" });
    expect(other.statusCode).toBe(200);
    expect(other.headers).not.toHaveProperty("access-control-allow-origin");
  });
});

describe("a key in a message", () => {
  test("shows its ends when it is long, and little of a short one", () => {
    expect(maskKey(key)).toBe("sk-01234****ijkl");
    expect(maskKey("secret-key")).toBe("se****");
    expect(maskKey("a")).toBe("****");
  });
});

describe("without keys", () => {
  test("an empty or any bearer key is accepted", async () => {
    for (const authorization of ["Bearer ", "Bearer anything"]) {
      expect((await server()("POST", completions, { authorization })).statusCode).toBe(200);
    }
  });

  test.each([
    "localhost",
    "localhost:8080",
    "LOCALHOST.:1",
    "127.0.0.1",
    "127.8.8.8:80",
    "[::1]",
    "[::1]:8080",
  ])("the Host %s is this machine", async (host) =>
    expect((await server()("GET", "/health", { host })).statusCode).toBe(200),
  );

  test.each([
    "example.org",
    "localhost.example.org",
    "127.0.0.1.example.org:8080",
    "192.168.0.1",
    "[::2]:8080",
  ])("the Host %j is another", async (host) => {
    const answer = await server()("POST", completions, { host });
    expect(answer.statusCode).toBe(403);
    expect(answer.json().error.code).toBe("forbidden_host");
  });

  test("the bound and the allowed hosts are answered", async () => {
    const ask = server({ allowedHosts: ["box.local"] });
    expect((await ask("GET", "/health", { host: "box.local:8080" })).statusCode).toBe(200);
    const open = server({ host: "0.0.0.0" });
    expect((await open("GET", "/health", { host: "anything" })).statusCode).toBe(200);
  });

  test.each([
    "http://localhost:3000",
    "http://127.0.0.1",
    "https://[::1]:1",
    "http://127.0.0.1:8080",
  ])("pages of %s may call", async (origin) => {
    const answer = await server()("POST", completions, { origin });
    expect(answer.statusCode).toBe(200);
    expect(answer.headers["access-control-allow-origin"]).toBe(origin);
    expect(answer.headers.vary).toContain("Origin");
  });

  test.each([
    "https://example.org",
    "null",
    "http://localhost.example.org",
    "file://",
    "http://127.0.0.1.nip.example",
  ])("pages of %s may not", async (origin) => {
    const answer = await server()("POST", completions, { origin });
    expect(answer.statusCode).toBe(403);
    expect(answer.json().error.code).toBe("forbidden_origin");
    expect(answer.headers).not.toHaveProperty("access-control-allow-origin");
  });

  test("a name of this machine's network that a page came from may call, once allowed", async () => {
    const ask = server({ allowedHosts: ["box.local"] });
    const headers = { host: "box.local:8080", origin: "http://box.local:8080" };
    expect((await ask("POST", completions, headers)).statusCode).toBe(200);
  });

  test("--cors opens it", async () => {
    const listed = server({ cors: ["https://example.org"] });
    expect((await listed("POST", completions, { origin: "https://example.org" })).statusCode).toBe(
      200,
    );
    expect((await listed("POST", completions, { origin: "http://localhost:1" })).statusCode).toBe(
      403,
    );
    for (const cors of ["*", ["*"]] as const) {
      const all = await server({ cors })("POST", completions, { origin: "null" });
      expect([all.statusCode, all.headers["access-control-allow-origin"]]).toEqual([200, "*"]);
    }
  });
});

describe("a preflight", () => {
  const wish = {
    origin: "http://localhost:3000",
    "access-control-request-method": "POST",
  };

  test("is answered with 200 and what is allowed, without a key", async () => {
    const answer = await server({ apiKeys: [key] })("OPTIONS", completions, {
      ...wish,
      "access-control-request-headers": "authorization,content-type,x-custom",
    });
    expect([answer.statusCode, answer.body]).toEqual([200, ""]);
    expect(answer.headers).toMatchObject({
      "access-control-allow-origin": "*",
      "access-control-allow-methods": "GET, OPTIONS, POST",
      "access-control-allow-headers": "authorization,content-type,x-custom",
      "access-control-max-age": "86400",
    });
  });

  test("allows Authorization and Content-Type by itself", async () => {
    const answer = await server()("OPTIONS", completions, wish);
    expect(answer.headers).toMatchObject({
      "access-control-allow-origin": "http://localhost:3000",
      "access-control-allow-headers": "Authorization, Content-Type",
    });
  });

  test("of a forbidden origin is refused without keys", async () => {
    const answer = await server()("OPTIONS", completions, {
      ...wish,
      origin: "https://evil.example",
    });
    expect(answer.statusCode).toBe(403);
    expect(answer.headers).not.toHaveProperty("access-control-allow-origin");
  });

  test("of an origin that is not listed allows nothing with keys", async () => {
    const answer = await server({ apiKeys: [key], cors: ["https://a.example"] })(
      "OPTIONS",
      completions,
      wish,
    );
    expect(answer.headers).not.toHaveProperty("access-control-allow-methods");
  });
});
