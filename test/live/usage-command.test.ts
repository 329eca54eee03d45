/** What the command reports is what clients were told and what `GET /v1/usage` says; and backups. */
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import OpenAI from "openai";
import { afterAll, beforeAll, expect, test } from "vitest";
import { tinyGgufFile } from "../../src/llama/testing/tiny-gguf.ts";
import { runCommand } from "../support/run-command.ts";
import { type ServerProcess, startServer } from "../support/server-process.ts";

const folder = mkdtempSync(join(tmpdir(), "completionist-usage-"));
const options = ["--model", tinyGgufFile(), "--threads", "1", "--data", folder];
const run = (...words: readonly string[]) => runCommand([...words, "--data", folder]);

let server: ServerProcess;
let secret = "";
/** What the answers of the key "counted" said. */
const told = { requests: 0, prompt_tokens: 0, completion_tokens: 0, cached_tokens: 0 };
const ids: string[] = [];

beforeAll(async () => {
  server = await startServer(options);
  secret = (await run("keys", "create", "--name", "counted")).output.trim();
  const other = (await run("keys", "create", "--name", "other")).output.trim();
  await ask(other, {});
  const requests = [
    { n: 3 },
    { n: 2, best_of: 5, user: '=ann, "a"' },
    { echo: true, logprobs: 2, user: "bob" },
    { echo: true, max_tokens: 0 },
    { prompt: ["abcdefgh", "abcdefgh", "c"], n: 2 },
    { stream: true, n: 2, user: "bob" },
    { stream: true, stream_options: { include_usage: true, continuous_usage_stats: true } },
  ];
  for (const parts of requests) {
    const { id, usage } = await ask(secret, parts);
    ids.push(id);
    told.requests += 1;
    told.prompt_tokens += usage.prompt_tokens;
    told.completion_tokens += usage.completion_tokens;
    told.cached_tokens += usage.prompt_tokens_details?.cached_tokens ?? 0;
  }
});

afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function ask(apiKey: string, parts: object) {
  const client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey, maxRetries: 0 });
  const body = { model: "gpt-3.5-turbo-instruct", prompt: "abcdefgh", max_tokens: 5, ...parts };
  if (!("stream" in parts)) {
    const { id, usage } = await client.completions.create({ ...body, stream: false });
    return { id, usage: usage as OpenAI.CompletionUsage };
  }
  const stream = await client.completions.create({
    stream_options: { include_usage: true },
    ...body,
    stream: true,
  });
  let last: OpenAI.Completion | undefined;
  for await (const chunk of stream) last = chunk;
  return { id: last?.id ?? "", usage: last?.usage as OpenAI.CompletionUsage };
}

const total = () => told.prompt_tokens + told.completion_tokens;

test("sums are what the answers said", async () => {
  const { code, output } = await run("usage", "--by", "key", "--json");
  expect(code).toBe(0);
  const rows = JSON.parse(output) as { key: string }[];
  expect(rows.map(({ key }) => key)).toEqual(["counted", "other"]);
  expect(rows[0]).toEqual({
    key: "counted",
    key_id: expect.stringMatching(/^key_/),
    ...told,
    total_tokens: total(),
  });
});

test("they are what the server says of the key", async () => {
  for (const by of ["day", "day,model,user", "user"]) {
    const answer = await fetch(`${server.url}/v1/usage?by=${by}`, {
      headers: { authorization: `Bearer ${secret}` },
    });
    const { data } = (await answer.json()) as { data: { object: string }[] };
    const { output } = await run("usage", "--by", by, "--key", "counted", "--json");
    expect(JSON.parse(output)).toEqual(data.map(({ object: _, ...row }) => row));
  }
});

test("the table has a line for each day and key, and their sum", async () => {
  const { output } = await run("usage", "--key", "counted");
  const [head = "", row = "", sum = ""] = output.split("\n");
  expect(head.split(/ +/)).toEqual("day key requests prompt cached completion total".split(" "));
  const { requests, prompt_tokens, cached_tokens, completion_tokens } = told;
  const numbers = [requests, prompt_tokens, cached_tokens, completion_tokens, total()].map(String);
  expect(row.split(/ +/)).toEqual([
    expect.stringMatching(/^\d{4}-\d\d-\d\d$/),
    "counted",
    ...numbers,
  ]);
  expect(sum.split(/ +/)).toEqual(["sum", ...numbers]);
});

test("CSV quotes, and leaves no formula to a spreadsheet", async () => {
  const { output } = await run("usage", "--by", "user", "--key", "counted", "--csv");
  const lines = output.split("\r\n");
  expect(lines[0]).toBe("user,requests,prompt_tokens,cached_tokens,completion_tokens,total_tokens");
  expect(output).toContain('\r\n"\'=ann, ""a""",1,');
  expect(lines.at(-1)).toBe("");
});

test("requests are listed one by one, with the ids of their answers", async () => {
  const { output } = await run("usage", "--requests", "--key", "counted", "--json");
  const rows = output
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(rows.map(({ id }) => id)).toEqual(ids);
  expect(rows[1]).toMatchObject({
    key: "counted",
    user: '=ann, "a"',
    candidates: 5,
    outcome: "completed",
    error: null,
  });
  const sum = rows.reduce((all, row) => all + row.prompt_tokens + row.completion_tokens, 0);
  expect(sum).toBe(total());
  const csv = (await run("usage", "--requests", "--key", "counted", "--csv")).output;
  expect(
    csv
      .split("\r\n")
      .slice(1, -1)
      .map((line) => line.split(",")[0]),
  ).toEqual(ids);
  const table = (await run("usage", "--requests", "--key", "counted")).output;
  expect(
    table
      .split("\n")
      .slice(1, -1)
      .map((line) => line.split(" ")[0]),
  ).toEqual(ids);
});

test("times bound the report", async () => {
  const today = new Date();
  const later = new Date(today.getTime() + 2 * 86_400_000).toISOString().slice(0, 10);
  expect(JSON.parse((await run("usage", "--from", later, "--json")).output)).toEqual([]);
  const until = await run("usage", "--by", "key", "--until", later, "--json");
  expect(JSON.parse(until.output)).toHaveLength(2);
  expect(await run("usage", "--from", later, "--until", "2020-01-01")).toMatchObject({
    code: 2,
    errors: "completionist: --until: it must be later than --from\n",
  });
});

test("a backup of a server that runs is put back when none does", async () => {
  const file = join(folder, "backup.db");
  expect(await run("database", "backup", file)).toMatchObject({ code: 0, output: `${file}\n` });
  expect((await run("database", "backup", file)).errors).toContain(
    `There is a file ${file} already`,
  );
  const report = await run("usage", "--json");
  expect(await run("database", "restore", file)).toMatchObject({
    code: 1,
    errors: expect.stringMatching(/^completionist: A server runs on .*: stop it first\.\n$/),
  });
  expect((await run("database", "info")).output).toMatch(/^server +runs on it$/m);
  await ask(secret, {});
  expect(await server.stop()).toBe(0);
  expect((await run("keys", "create", "--name", "late")).code).toBe(0);
  const restored = await run("database", "restore", file);
  expect([restored.code, restored.output]).toEqual([0, expect.stringMatching(/^keys +2 active/m)]);
  expect((await run("usage", "--json")).output).toBe(report.output);
  server = await startServer(options);
  await ask(secret, {});
});

test("old rows are deleted on request", async () => {
  expect((await run("database", "prune", "--keep", "1")).output).toBe("deleted 0 rows\n");
  const missing = join(folder, "no-such.db");
  const { code, errors } = await run("usage", "--database", missing);
  expect([code, errors]).toEqual([1, `completionist: There is no database at ${missing}.\n`]);
  expect(existsSync(missing)).toBe(false);
});
