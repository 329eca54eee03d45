/** What people send stays between them and the server: no log, metric or report repeats it. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { RawClient } from "../../src/http/testing/raw-client.ts";
import { tinyGgufFile } from "../../src/llama/testing/tiny-gguf.ts";
import { enginePid } from "../support/engine-pid.ts";
import { type ServerProcess, startServer } from "../support/server-process.ts";

const key = "sk-0123456789-a-key-that-nobody-may-see-9876543210";
/** Parts of it would be too much as well. */
const secrets = {
  prompt: "Ottokar buried the silver spoons",
  suffix: "behind the third lighthouse",
  user: "ottokar-of-the-lighthouse",
  stop: "zebra nine spoons",
  body: "Ottokar broke the JSON",
  query: "token-in-a-query",
  wrongKey: "sk-abcdefgh-a-wrong-key-of-somebody-else-hgfedcba",
  key,
} as const;

let server: ServerProcess;
let data: string;

beforeAll(async () => {
  const model = tinyGgufFile({ variant: "plain" });
  const engine = ["--model", model, "--threads", "1", "--slots", "2"];
  data = mkdtempSync(join(tmpdir(), "completionist-redaction-"));
  const access = ["--api-key", key, "--data", data];
  server = await startServer([...engine, ...access, "--log-level", "trace"]);
});

afterAll(async () => {
  await server?.stop();
  rmSync(data, { recursive: true, force: true });
});

const headers = { "content-type": "application/json", authorization: `Bearer ${key}` };
const body = {
  prompt: secrets.prompt,
  user: secrets.user,
  stop: secrets.stop,
  max_tokens: 4,
  ignore_eos: true,
};

function post(payload: object | string, more: Record<string, string> = {}): Promise<Response> {
  return fetch(`${server.url}/v1/completions?key=${secrets.query}`, {
    method: "POST",
    headers: { ...headers, ...more },
    body: typeof payload === "string" ? payload : JSON.stringify(payload),
  });
}

/** Which secrets a text holds, whole or in their first or last half. */
function leaksIn(text: string): string[] {
  return Object.entries(secrets).flatMap(([name, secret]) => {
    const middle = Math.floor(secret.length / 2);
    const parts = [secret.slice(0, middle), secret.slice(middle), btoa(secret)];
    return parts.some((part) => text.includes(part)) ? [name] : [];
  });
}

async function open(path: string): Promise<string> {
  return (await fetch(server.url + path, { headers })).text();
}

test("requests that go well, of each kind", async () => {
  for (const stream of [false, true]) {
    const answer = await post({ ...body, stream, logprobs: 2 });
    expect(answer.status).toBe(200);
    await answer.text();
  }
  await (await post({ ...body, suffix: secrets.suffix })).text();
  // Their log lines come when the connection is done with them.
  const line = /"path":"\/v1\/completions",.*"status":200/;
  await vi.waitFor(() => expect(server.output()).toMatch(line), { timeout: 10_000 });
  expect(leaksIn(server.output())).toEqual([]);
});

describe("errors", () => {
  test.each<[string, string]>([
    ["a cut object", `{"prompt":"${secrets.body}`],
    ["a bare word", `{"prompt":${secrets.body}}`],
    ["a comma too many", `{"prompt":"${secrets.body}",}`],
    ["bytes that are no UTF-8", `{"prompt":"${secrets.body}\\ud800",]`],
    ["deep nesting", `${"[".repeat(100)}"${secrets.body}"${"]".repeat(100)}`],
    ["no object", JSON.stringify(secrets.body)],
    ["a prompt of the wrong type", JSON.stringify({ prompt: { text: secrets.body } })],
    ["a mixed prompt", JSON.stringify({ prompt: [secrets.body, 1] })],
    ["a limit of the wrong type", JSON.stringify({ prompt: secrets.prompt, n: secrets.body })],
    ["options of the wrong type", JSON.stringify({ prompt: "a", stream_options: secrets.body })],
  ])("about %s repeat none of it", async (_, payload) => {
    const answer = await post(payload);
    expect(answer.status).toBe(400);
    expect(leaksIn(await answer.text())).toEqual([]);
    expect(leaksIn(server.output())).toEqual([]);
  });

  test("about a wrong key show its ends, to whoever sent it, and nothing to others", async () => {
    const answer = await post(body, { authorization: `Bearer ${secrets.wrongKey}` });
    expect(answer.status).toBe(401);
    const { error } = (await answer.json()) as { error: { message: string } };
    expect(error.message).toContain("****");
    expect(leaksIn(error.message)).toEqual([]);
    expect(server.output()).not.toContain(secrets.wrongKey.slice(0, 11));
  });

  test("about keys in other places repeat none", async () => {
    for (const value of [`Basic ${btoa(`x:${key}`)}`, `Bearer\t\t`, key]) {
      const answer = await post(body, { authorization: value });
      expect(answer.status).toBe(401);
      expect(leaksIn(await answer.text())).toEqual([]);
    }
  });

  test("about what is no HTTP repeat none", async () => {
    const client = await RawClient.open(Number(new URL(server.url).port));
    client.send(`POST /v1/completions HTTP/1.1\r\nHost: a\r\nBad Header: ${secrets.body}\r\n\r\n`);
    expect(leaksIn(await client.end())).toEqual([]);
    expect(leaksIn(server.output())).toEqual([]);
  });
});

test("an engine that dies with requests in it takes their texts along", async () => {
  const answer = await post({ ...body, max_tokens: 400, stream: true });
  const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
  await reader.read();
  const waiting = post({ ...body, max_tokens: 400 });
  // It is killed while both are at work: the second was sent before the first goes on.
  await reader.read();
  process.kill(enginePid(server), "SIGKILL");
  const texts = [await (await waiting).text()];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    texts.push(new TextDecoder().decode(value));
  }
  expect(leaksIn(texts.join(""))).toEqual([]);
  expect((await post(body)).status).toBe(200);
  expect(server.output()).toMatch(/engine/);
  expect(leaksIn(server.output())).toEqual([]);
});

test.each(["/metrics", "/health", "/openapi.json", "/v1/models"])(
  "%s repeats none",
  async (path) => {
    expect(leaksIn(await open(path))).toEqual([]);
  },
);

test("all that the server printed until its end repeats none", async () => {
  await server.stop();
  expect(server.output()).toContain('"status":401');
  expect(leaksIn(server.output())).toEqual([]);
  // The ledger keeps `user`, which it is asked by, and nothing else of a request's texts.
  const kept = readdirSync(data, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => readFileSync(join(parentPath, name), "latin1"));
  expect(kept.length).toBeGreaterThan(0);
  expect(leaksIn(kept.join("\n"))).toEqual(["user"]);
});
