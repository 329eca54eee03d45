/** Keys from the command line, felt by a server that runs and by the official client. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import OpenAI, { AuthenticationError, NotFoundError, RateLimitError } from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { tinyGgufFile } from "../../src/llama/testing/tiny-gguf.ts";
import { runCommand } from "../support/run-command.ts";
import { type ServerProcess, startServer } from "../support/server-process.ts";

const folder = mkdtempSync(join(tmpdir(), "completionist-keys-"));
const model = tinyGgufFile();
let server: ServerProcess;

beforeAll(async () => {
  server = await startServer(["--model", model, "--threads", "1", "--data", folder]);
});

afterAll(async () => {
  expect(await server?.stop()).toBe(0);
  rmSync(folder, { recursive: true, force: true });
});

const keys = (...words: readonly string[]) => runCommand(["keys", ...words, "--data", folder]);

/** The secret of a new key: standard output holds nothing else. */
async function newKey(name: string, ...options: readonly string[]): Promise<string> {
  const { code, output, errors } = await keys("create", "--name", name, ...options);
  expect([code, output]).toEqual([0, expect.stringMatching(/^sk-[\w-]{43}\n$/)]);
  expect(errors).toContain(`Made the key "${name}" (key_`);
  expect(errors).toContain("shown only once");
  expect(errors).not.toContain(output.trim());
  return output.trim();
}

/** The official client; `seen` gets every answer that it got, repetitions included. */
function clientOf(apiKey: string, maxRetries = 0, seen: Response[] = []): OpenAI {
  return new OpenAI({
    baseURL: `${server.url}/v1`,
    apiKey,
    maxRetries,
    fetch: async (url, options) => {
      const answer = await fetch(url, options);
      seen.push(answer);
      return answer;
    },
  });
}

const body = { model: "gpt-3.5-turbo-instruct", prompt: "ab", max_tokens: 2 } as const;
/** Far more tokens than are made before it is ended. */
const endless = {
  ...body,
  prompt: Array(16).fill("ab"),
  n: 128,
  max_tokens: 120,
  ignore_eos: true,
};

const create = (apiKey: string, parts: object = {}) =>
  clientOf(apiKey).completions.create({ ...body, ...parts, stream: false });

const statusWithout = async () => (await fetch(`${server.url}/v1/models`)).status;

test("the first key makes a server that runs ask for keys at once", async () => {
  expect(await statusWithout()).toBe(200);
  const { code, output, errors } = await keys("create", "--name", "first");
  expect([code, errors]).toEqual([0, expect.stringContaining("It is the first key")]);
  expect(await statusWithout()).toBe(401);
  await expect(create("sk-other")).rejects.toThrow(AuthenticationError);
  expect((await create(output.trim())).usage?.prompt_tokens).toBe(2);
});

test("another secret ends the one before", async () => {
  const before = await newKey("rotated");
  await create(before);
  const { output, errors } = await keys("rotate", "rotated");
  expect(output).toMatch(/^sk-[\w-]{43}\n$/);
  expect(errors).toContain("the one before holds no more");
  await expect(create(before)).rejects.toThrow(AuthenticationError);
  await create(output.trim());
});

test("a key ends when it expires, and holds again when it is given longer", async () => {
  const secret = await newKey("brief", "--expires", "1h");
  await create(secret);
  expect((await keys("update", "brief", "--expires", "1s")).code).toBe(0);
  const refused = () =>
    create(secret).then(
      () => "answered",
      (error: Error) => error.constructor,
    );
  await expect.poll(refused, { timeout: 20_000 }).toBe(AuthenticationError);
  expect((await keys("list")).output).toMatch(/^brief +key_\w+ +expired /m);
  expect((await keys("update", "brief", "--expires", "never")).output).toContain("never expires");
  await create(secret);
});

test("a key finds no models but its own", async () => {
  const secret = await newKey("narrow", "--models", "no-such-model,other");
  await expect(create(secret)).rejects.toThrow(NotFoundError);
  const listed = await clientOf(secret).models.list();
  expect(listed.data).toEqual([]);
});

describe("limits", () => {
  test("requests per minute: the client is told when to come, comes then and is answered", async () => {
    const secret = await newKey("rate", "--requests-per-minute", "20");
    let refused: unknown;
    while (refused === undefined) {
      refused = await create(secret).then(
        () => undefined,
        (error: unknown) => error,
      );
    }
    expect(refused).toBeInstanceOf(RateLimitError);
    const { code, type, headers } = refused as RateLimitError;
    expect({ code, type }).toEqual({ code: "rate_limit_exceeded", type: "requests" });
    expect(headers?.get("x-should-retry")).toBe("true");
    const waitMs = Number(headers?.get("retry-after-ms"));
    // One in three seconds has room again.
    expect(waitMs).toBeGreaterThan(0);
    expect(waitMs).toBeLessThanOrEqual(3000);
    const seen: Response[] = [];
    await clientOf(secret, 5, seen).completions.create({ ...body, stream: false });
    const last = seen.at(-1);
    expect(last?.status).toBe(200);
    expect(last?.headers.get("x-ratelimit-limit-requests")).toBe("20");
    expect(Number(last?.headers.get("x-ratelimit-remaining-requests"))).toBeLessThan(20);
    expect(last?.headers.get("x-ratelimit-reset-requests")).toMatch(/^(\d+m)?[\d.]+m?s$/);
    expect(seen.slice(0, -1).every((answer) => answer.headers.has("retry-after-ms"))).toBe(true);
  });

  test("tokens per month: the quota is gone, the client does not try again; it can be raised", async () => {
    const secret = await newKey("month", "--tokens-per-month", "10");
    const whole = { max_tokens: 8, ignore_eos: true };
    await create(secret, whole);
    const seen: Response[] = [];
    const again = clientOf(secret, 5, seen).completions.create({ ...body, stream: false });
    await expect(again).rejects.toMatchObject({
      status: 429,
      code: "insufficient_quota",
      type: "insufficient_quota",
    });
    expect(seen.length).toBe(1);
    const { output } = await keys("update", "month", "--tokens-per-month", "20");
    expect(output).toContain("limits tokens-per-month 20;");
    await create(secret, whole);
    await expect(create(secret, whole)).rejects.toThrow(RateLimitError);
    await keys("update", "month", "--tokens-per-month", "none");
    await create(secret, whole);
  });

  test("of users hold for each user", async () => {
    const secret = await newKey("users", "--user-tokens-per-month", "10");
    const whole = { max_tokens: 8, ignore_eos: true };
    await create(secret, { ...whole, user: "ann" });
    await expect(create(secret, { ...whole, user: "ann" })).rejects.toThrow(RateLimitError);
    await create(secret, { ...whole, user: "bob" });
    await create(secret, whole);
    await create(secret, whole);
  });

  test("too many at once are asked to come again in a second", async () => {
    const secret = await newKey("parallel", "--max-parallel", "1");
    const running = await clientOf(secret).completions.create({
      ...endless,
      stream: true,
    });
    const chunks = running[Symbol.asyncIterator]();
    await chunks.next();
    const refused = await create(secret).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(RateLimitError);
    expect((refused as RateLimitError).headers?.get("retry-after-ms")).toBe("1000");
    running.controller.abort();
  });
});

test("a revoked key ends its running stream with an error and [DONE], and then holds no more", async () => {
  const secret = await newKey("revoked");
  const answer = await fetch(`${server.url}/v1/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${secret}` },
    body: JSON.stringify({ ...endless, stream: true }),
  });
  const text = answer.text();
  const { code, output } = await keys("revoke", "revoked");
  expect([code, output]).toEqual([0, expect.stringContaining('Revoked "revoked" (key_')]);
  expect(await text).toMatch(/"code":"invalid_api_key"\}\}\n\ndata: \[DONE\]\n\n$/);
  await expect(create(secret)).rejects.toThrow(AuthenticationError);
  expect((await keys("list")).output).not.toMatch(/^revoked /m);
  expect((await keys("list", "--all")).output).toMatch(/^revoked +key_\w+ +revoked /m);
});

test("a list is for people, and as JSON for programs; no secret is in it", async () => {
  const secret = await newKey("listed", "--max-parallel", "3", "--models", "a,b");
  const { output } = await keys("list", "--json");
  const listed = (JSON.parse(output) as { name: string }[]).find(({ name }) => name === "listed");
  expect(listed).toEqual({
    id: expect.stringMatching(/^key_/),
    name: "listed",
    masked: `${secret.slice(0, 8)}****${secret.slice(-4)}`,
    state: "active",
    created: expect.stringMatching(/^20\d\d-.*Z$/),
    expires: null,
    revoked: null,
    rotated: null,
    last_used: null,
    models: ["a", "b"],
    limits: { max_parallel: 3 },
  });
  const table = (await keys()).output;
  expect(table).toMatch(/^listed +key_\w+ +active +\S+Z +never +never +max-parallel 3 +a,b$/m);
  expect(`${output}${table}`).not.toContain(secret.slice(8, -4));
});

describe("what is wrong is told in one line", () => {
  test.each([
    [["create", "--name", "first"], 1, "There is a key named 'first' already."],
    [["revoke", "frist"], 1, 'there is no key "frist" (did you mean "first"?)'],
    [["revoke", "first", "nobody"], 1, 'there is no key "nobody"'],
    [["revoke", "revoked"], 1, 'the key "revoked" is revoked already'],
    [["rotate", "nobody"], 1, 'there is no key "nobody"'],
    [["update", "first"], 2, /^completionist: say what to change, for example /],
    [["update", "first", "--max-parallel", "x"], 2, /1 to 100000000000, or none, got "x"$/],
  ] as const)("keys %j", async (words, expected, message) => {
    const { code, output, errors } = await keys(...words);
    expect([code, output]).toEqual([expected, ""]);
    const line = typeof message === "string" ? `completionist: ${message}` : message;
    expect(errors.trimEnd()).toEqual(typeof line === "string" ? line : expect.stringMatching(line));
  });

  test("and nothing was done: the first key still holds", async () => {
    expect((await keys("list")).output).toMatch(/^first +key_\w+ +active /m);
  });
});
