/** Keys, limits and the ledger through the whole program: command, engine, SQLite. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type KeyWithSecret, openKeyStore } from "../../src/access/key-store.ts";
import { openLedger } from "../../src/access/ledger.ts";
import { tinyGgufFile } from "../../src/llama/testing/tiny-gguf.ts";
import { type ServerProcess, startServer } from "../support/server-process.ts";

const folder = mkdtempSync(join(tmpdir(), "completionist-access-"));
const settings = { database: undefined, dataFolder: folder };
const options = ["--model", tinyGgufFile(), "--threads", "1", "--slots", "2", "--data", folder];

let server: ServerProcess;
let free: KeyWithSecret;
let limited: KeyWithSecret;
let rare: KeyWithSecret;

beforeAll(async () => {
  const keys = await openKeyStore(settings);
  free = await keys.create({ name: "free" });
  limited = await keys.create({ name: "limited", models: ["no-such-model"] });
  rare = await keys.create({ name: "rare", limits: { requestsPerMinute: 1 } });
  await keys.close();
  server = await startServer(options);
}, 60_000);

afterAll(async () => {
  expect(await server?.stop()).toBe(0);
  rmSync(folder, { recursive: true, force: true });
});

const bearer = ({ secret }: KeyWithSecret) => ({ authorization: `Bearer ${secret}` });

const complete = (headers: Record<string, string>, body: object = {}) =>
  fetch(`${server.url}/v1/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify({ prompt: "ab", max_tokens: 4, ignore_eos: true, ...body }),
  });

/** The ledger's row of a completion, read by another process's means while the server runs. */
async function rowOf(completionId: string) {
  const ledger = await openLedger(settings);
  try {
    for await (const row of ledger.rows()) if (row.completionId === completionId) return row;
    return undefined;
  } finally {
    await ledger.close();
  }
}

test("keys of the database are asked for", async () => {
  expect((await complete({})).status).toBe(401);
  expect((await complete({ authorization: "Bearer sk-wrong" })).status).toBe(401);
  expect((await fetch(`${server.url}/v1/models`)).status).toBe(401);
  expect((await fetch(`${server.url}/health/ready`)).status).toBe(200);
});

test("an answer that has ended is in the ledger, with its key, user and tokens", async () => {
  const answer = await complete(bearer(free), { user: "u-1", n: 2 });
  const { id, usage } = (await answer.json()) as {
    id: string;
    usage: { prompt_tokens: number; completion_tokens: number };
  };
  expect(answer.headers.has("x-ratelimit-limit-requests")).toBe(false);
  expect(await rowOf(id)).toMatchObject({
    keyId: free.key.id,
    requestId: answer.headers.get("x-request-id"),
    user: "u-1",
    outcome: "completed",
    candidates: 2,
    promptTokens: usage.prompt_tokens,
    completionTokens: usage.completion_tokens,
    reservedTokens: usage.prompt_tokens + 8,
  });
});

test("a stream that said [DONE] is in the ledger", async () => {
  const text = await (await complete(bearer(free), { stream: true })).text();
  expect(text).toMatch(/data: \[DONE\]\n\n$/);
  const id = /"id":"(cmpl-\w+)"/.exec(text)?.[1] ?? "";
  expect(await rowOf(id)).toMatchObject({ outcome: "completed", completionTokens: 4 });
});

test("a stream whose client leaves is charged what was generated until then", async () => {
  const body = { stream: true, max_tokens: 100, n: 32 };
  const leave = new AbortController();
  const answer = await fetch(`${server.url}/v1/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", ...bearer(free) },
    body: JSON.stringify({ prompt: "ab", ignore_eos: true, ...body }),
    signal: leave.signal,
  });
  const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
  const { value } = await reader.read();
  const id = /"id":"(cmpl-\w+)"/.exec(new TextDecoder().decode(value))?.[1] ?? "";
  leave.abort();
  await expect.poll(async () => (await rowOf(id))?.outcome, { timeout: 20_000 }).toBe("cancelled");
  const row = await rowOf(id);
  expect(row?.completionTokens).toBeGreaterThan(0);
  expect(row?.completionTokens).toBeLessThan(3200);
}, 30_000);

describe("a key with limits", () => {
  test("is told them, and is refused beyond them with a time to wait", async () => {
    const first = await complete(bearer(rare));
    expect(first.status).toBe(200);
    expect(first.headers.get("x-ratelimit-limit-requests")).toBe("1");
    const second = await complete(bearer(rare));
    expect(second.status).toBe(429);
    const { error } = (await second.json()) as { error: { type: string; code: string } };
    expect(error).toMatchObject({ type: "requests", code: "rate_limit_exceeded" });
    expect(Number(second.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(Number(second.headers.get("retry-after"))).toBeLessThanOrEqual(60);
  });

  test("finds no models but its own", async () => {
    expect((await complete(bearer(limited))).status).toBe(404);
    const list = await fetch(`${server.url}/v1/models`, { headers: bearer(limited) });
    expect(((await list.json()) as { data: unknown[] }).data).toEqual([]);
  });
});

test("a key learns its own usage, and nothing of others", async () => {
  const usageOf = async (key: KeyWithSecret) => {
    const answer = await fetch(`${server.url}/v1/usage?by=key`, { headers: bearer(key) });
    return (await answer.json()) as { data: { key: string; requests: number }[] };
  };
  expect((await usageOf(rare)).data).toMatchObject([{ requests: 1 }]);
  expect((await usageOf(limited)).data).toEqual([]);
});

test("a key that is revoked while its stream runs ends it", async () => {
  const keys = await openKeyStore(settings);
  const brief = await keys.create({ name: "brief" });
  const answer = await complete(bearer(brief), { stream: true, max_tokens: 120, n: 128 });
  const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  let text = decoder.decode((await reader.read()).value, { stream: true });
  await keys.revoke("brief");
  await keys.close();
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    text += decoder.decode(part.value, { stream: true });
  }
  expect(text).toContain("invalid_api_key");
  expect(text).toMatch(/data: \[DONE\]\n\n$/);
  expect((await complete(bearer(brief))).status).toBe(401);
}, 30_000);

test("metrics tell of refusals and of the ledger", async () => {
  const text = await (await fetch(`${server.url}/metrics`, { headers: bearer(free) })).text();
  expect(text).toContain("completionist_ledger_writable 1");
  expect(text).toMatch(/completionist_limit_refusals_total\{limit="requests"\} 1/);
});

/** The id of the completion in what was streamed, and all that is still to come. */
async function begun(answer: Response) {
  const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  let text = decoder.decode((await reader.read()).value, { stream: true });
  const id = /"id":"(cmpl-\w+)"/.exec(text)?.[1] ?? "";
  const rest = async () => {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      text += decoder.decode(part.value, { stream: true });
    }
    return text;
  };
  return { id, rest };
}

test("a server that is told to stop settles what it cuts, and ends with 0", async () => {
  const other = await startServer([...options, "--drain", "0"]);
  const answer = await fetch(`${other.url}/v1/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", ...bearer(free) },
    body: JSON.stringify({ prompt: "ab", max_tokens: 120, n: 128, stream: true, ignore_eos: true }),
  });
  const { id, rest } = await begun(answer);
  const ended = other.stop();
  expect(await rest()).toContain("server_shutting_down");
  expect(await ended).toBe(0);
  expect(await rowOf(id)).toMatchObject({ outcome: "failed", error: "shuttingDown" });
}, 60_000);

test("more prompts than may wait are refused with a time to wait", async () => {
  const other = await startServer([...options, "--queue", "1"]);
  const prompts = Array.from({ length: 16 }, (_, index) => `prompt ${index}`);
  const answer = await fetch(`${other.url}/v1/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", ...bearer(free) },
    body: JSON.stringify({ prompt: prompts, max_tokens: 100, ignore_eos: true }),
  });
  expect(answer.status).toBe(503);
  expect(Number(answer.headers.get("retry-after-ms"))).toBeGreaterThan(0);
  await other.stop();
}, 60_000);

test("a database that is none ends the start with one line", async () => {
  const file = join(folder, "text.db");
  writeFileSync(file, "this is no database, however long one looks at it".repeat(100));
  const started = startServer([...options, "--database", file]);
  await expect(started).rejects.toThrow(/completionist: [^\n]*text\.db[^\n]*\n$/);
});
