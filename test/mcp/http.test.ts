/** The tools over streamable HTTP: sessions, who may come in, and hosts that leave. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  command,
  complete,
  completionTool,
  connect,
  endless,
  engineOptions,
  errorOf,
  textsOf,
} from "./support/agent-host.ts";

interface Endpoint {
  readonly url: string;
  stop(): Promise<number | null>;
}

async function startEndpoint(options: readonly string[]): Promise<Endpoint> {
  const folder = mkdtempSync(`${tmpdir()}/completionist-data-`);
  const words = [command, "mcp", "--http", "--port", "0", "--data", folder];
  const child: ChildProcess = spawn(process.execPath, [...words, ...engineOptions(), ...options], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const exited = new Promise<number | null>((resolve) => child.once("exit", resolve));
  let errors = "";
  const url = await new Promise<string>((resolve, reject) => {
    child.stderr?.on("data", (data: Buffer) => {
      errors += data.toString();
      const address = /http:\/\/127\.0\.0\.1:\d+\/mcp/.exec(errors)?.[0];
      if (address !== undefined) resolve(address);
    });
    child.once("exit", (code) => reject(new Error(`it ended with ${code}: ${errors}`)));
  });
  return {
    url,
    stop: () => {
      child.kill("SIGTERM");
      return exited.finally(() => rmSync(folder, { recursive: true, force: true }));
    },
  };
}

let endpoint: Endpoint;

beforeAll(async () => {
  endpoint = await startEndpoint([]);
});

afterAll(async () => {
  expect(await endpoint?.stop()).toBe(0);
});

const join = (url: string, headers: Record<string, string> = {}): Promise<Client> =>
  connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));

const initialize = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: {
    protocolVersion: "2025-06-18",
    capabilities: {},
    clientInfo: { name: "raw", version: "1" },
  },
};

interface Answer {
  readonly status: number;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly text: string;
}

/** With headers that fetch would not send, Host and Origin. */
function send(
  message: unknown,
  headers: Record<string, string> = {},
  { method = "POST", url = endpoint.url } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(url, {
      method,
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        ...headers,
      },
    });
    sent.on("error", reject);
    sent.on("response", (response) => {
      let text = "";
      response.on("data", (data: Buffer) => {
        text += data.toString();
      });
      response.on("end", () => {
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
      });
    });
    sent.end(typeof message === "string" ? message : JSON.stringify(message));
  });
}

describe("calls", () => {
  test("are answered, with progress on the way", async () => {
    const host = await join(endpoint.url);
    await host.listTools();
    const seen: number[] = [];
    const body = { model: "example", prompt: "Hi", max_tokens: 20, ignore_eos: true };
    const result = await host.callTool({ name: completionTool, arguments: { body } }, undefined, {
      onprogress: ({ progress }) => seen.push(progress),
    });
    expect(result.structuredContent).toMatchObject({ usage: { completion_tokens: 20 } });
    expect(seen[0]).toBe(0);
    expect(errorOf(await complete(host, { ...body, model: "x" }))).toMatchObject({
      code: "model_not_found",
    });
    await host.close();
  });

  test("of several hosts run one at a time", async () => {
    const [first, second] = await Promise.all([join(endpoint.url), join(endpoint.url)]);
    const cancelled = new AbortController();
    const started = Promise.withResolvers<void>();
    const running = first.callTool(
      { name: completionTool, arguments: { body: endless } },
      undefined,
      {
        signal: cancelled.signal,
        onprogress: () => started.resolve(),
      },
    );
    await started.promise;
    let answered = false;
    const waiting = complete(second, { model: "example", prompt: "Hi", max_tokens: 1 });
    void waiting.then(() => {
      answered = true;
    });
    // The second host's own requests are answered meanwhile; its completion is not.
    const models = await second.callTool({ name: "list_models", arguments: {} });
    expect(models.isError).toBeUndefined();
    expect(answered).toBe(false);
    cancelled.abort("enough");
    await expect(running).rejects.toThrow("enough");
    expect((await waiting).isError).toBeUndefined();
    await Promise.all([first.close(), second.close()]);
  });

  test("of a host that left are given up", async () => {
    const opened = await send(initialize);
    const session = { "mcp-session-id": String(opened.headers["mcp-session-id"]) };
    const abandoned = await new Promise<() => void>((resolve) => {
      const sent = request(endpoint.url, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
          ...session,
        },
      });
      sent.on("error", () => undefined);
      sent.on("response", (response) => {
        response.on("error", () => undefined);
        // Its first progress: it runs.
        response.once("data", () => resolve(() => sent.destroy()));
      });
      const params = { name: completionTool, arguments: { body: endless } };
      const meta = { _meta: { progressToken: 1 } };
      sent.end(
        JSON.stringify({
          jsonrpc: "2.0",
          id: 2,
          method: "tools/call",
          params: { ...params, ...meta },
        }),
      );
    });
    abandoned();
    const host = await join(endpoint.url);
    const result = await complete(host, { model: "example", prompt: "Hi", max_tokens: 1 });
    expect(textsOf(result)).toHaveLength(1);
    await host.close();
  });
});

describe("sessions", () => {
  test("begin with initialize and end with DELETE", async () => {
    const opened = await send(initialize);
    expect(opened.status).toBe(200);
    const session = { "mcp-session-id": String(opened.headers["mcp-session-id"]) };
    const list = { jsonrpc: "2.0", id: 2, method: "tools/list" };
    expect((await send(list, session)).text).toContain(completionTool);
    expect((await send("", session, { method: "DELETE" })).status).toBe(200);
    expect((await send(list, session)).status).toBe(404);
    const without = await send(list);
    expect(without.status).toBe(400);
    expect(JSON.parse(without.text)).toMatchObject({ jsonrpc: "2.0", error: { code: -32000 } });
  });

  test("that nobody uses make room for new ones", async () => {
    const first = await send(initialize);
    const session = { "mcp-session-id": String(first.headers["mcp-session-id"]) };
    for (let count = 0; count < 64; count += 1) {
      expect((await send(initialize)).status).toBe(200);
    }
    expect((await send({ jsonrpc: "2.0", id: 2, method: "ping" }, session)).status).toBe(404);
  });
});

describe("a page on the web", () => {
  const port = () => new URL(endpoint.url).port;

  test("cannot call under a name of its own", async () => {
    const answer = await send(initialize, { host: `evil.example:${port()}` });
    expect(answer.status).toBe(403);
    expect(JSON.parse(answer.text).error.message).toContain("evil.example");
  });

  test("cannot call from its origin", async () => {
    expect((await send(initialize, { origin: "https://evil.example" })).status).toBe(403);
  });

  test("of this machine can, and may read the session", async () => {
    const origin = "http://localhost:3000";
    const asked = await send(
      "",
      {
        ...{ origin, "access-control-request-method": "POST" },
        ...{ "access-control-request-headers": "content-type, mcp-session-id" },
      },
      { method: "OPTIONS" },
    );
    expect(asked.status).toBe(204);
    expect(asked.headers).toMatchObject({
      "access-control-allow-origin": origin,
      "access-control-allow-headers": "content-type, mcp-session-id",
    });
    const answer = await send(initialize, { origin, host: `localhost:${port()}` });
    expect(answer.status).toBe(200);
    expect(answer.headers).toMatchObject({
      "access-control-allow-origin": origin,
      "access-control-expose-headers": "Mcp-Session-Id",
    });
  });
});

describe("what is no call", () => {
  test.each([
    ["no JSON", "{", 400],
    ["another path", initialize, 404],
    ["another type", initialize, 415],
    ["another method", "", 400],
  ])("%s gets an error that hosts can read", async (what, message, status) => {
    const url = what === "another path" ? endpoint.url.replace("/mcp", "/v1") : endpoint.url;
    const type = what === "another type" ? { "content-type": "text/plain" } : {};
    const method = what === "another method" ? "PUT" : "POST";
    const answer = await send(message, type, { method, url });
    expect(answer.status).toBe(status);
    expect(JSON.parse(answer.text)).toMatchObject({
      jsonrpc: "2.0",
      id: null,
      error: { code: -32000, message: expect.any(String) },
    });
  });
});

test("with a key, only those who have it come in", async () => {
  const keys = ["--api-key", "s3cret-key", "--api-key", "another-key"];
  const guarded = await startEndpoint(keys);
  try {
    const refused = await send(initialize, {}, { url: guarded.url });
    expect(refused.status).toBe(401);
    expect(refused.headers["www-authenticate"]).toBe("Bearer");
    const wrong = await send(initialize, { authorization: "Bearer other" }, { url: guarded.url });
    expect(wrong.status).toBe(401);
    // A session is of use to its own key only.
    const known = { authorization: "Bearer another-key" };
    const opened = await send(initialize, known, { url: guarded.url });
    const session = { "mcp-session-id": String(opened.headers["mcp-session-id"]) };
    const ping = { jsonrpc: "2.0", id: 2, method: "ping" };
    const asked = await send(ping, { ...known, ...session }, { url: guarded.url });
    expect(asked.status).toBe(200);
    const mine = { authorization: "Bearer s3cret-key" };
    expect((await send(ping, { ...mine, ...session }, { url: guarded.url })).status).toBe(404);
    const host = await join(guarded.url, mine);
    const result = await complete(host, { model: "example", prompt: "Hi", max_tokens: 1 });
    expect(result.isError).toBeUndefined();
    await host.close();
  } finally {
    await guarded.stop();
  }
});
