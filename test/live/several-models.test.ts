/** Three models within memory for two: loaded when asked for, unloaded by last use. */
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { tinyGgufFile } from "../../src/llama/testing/tiny-gguf.ts";
import { readSamples } from "../../src/observe/testing/samples.ts";
import { type ServerProcess, startServer } from "../support/server-process.ts";

let server: ServerProcess;
let folder = "";

/** Each takes about 120 MB, most of it the engine's process. */
const memory = "320MB";

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "several-models-"));
  const broken = join(folder, "broken.gguf");
  copyFileSync(tinyGgufFile(), broken);
  const config = join(folder, "completionist.yaml");
  writeFileSync(
    config,
    [
      "default-model: a",
      "models:",
      `  c: { file: ${tinyGgufFile({ variant: "fim" })}, context: 128, insertion: off }`,
      `  large: { file: ${tinyGgufFile()}, slots: 200, context: 16384 }`,
      `  broken: { file: ${broken} }`,
    ].join("\n"),
  );
  server = await startServer([
    ...["--config", config, "--threads", "1", "--slots", "2", "--memory", memory],
    ...["--model", `a=${tinyGgufFile({ seed: 1 })}`, "--model", `b=${tinyGgufFile({ seed: 2 })}`],
  ]);
});

afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true });
});

function complete(model: string, more: object = {}, signal?: AbortSignal): Promise<Response> {
  return fetch(`${server.url}/v1/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model, prompt: "Once upon", max_tokens: 4, temperature: 0, ...more }),
    ...(signal === undefined ? {} : { signal }),
  });
}

/** Which file answered, and what. */
async function answerOf(model: string): Promise<string> {
  const response = await complete(model);
  expect(response.status).toBe(200);
  const body = (await response.json()) as {
    readonly model: string;
    readonly system_fingerprint: string;
    readonly choices: readonly { readonly text: string }[];
  };
  expect(body.model).toBe(model);
  return `${body.system_fingerprint}: ${body.choices[0]?.text}`;
}

interface ModelHealth {
  readonly name: string;
  readonly state: string;
  readonly reason?: string;
}

async function health(): Promise<{ status: string; models: ModelHealth[] }> {
  const response = await fetch(`${server.url}/health`);
  return (await response.json()) as { status: string; models: ModelHealth[] };
}

const statesOf = async () =>
  Object.fromEntries((await health()).models.map(({ name, state }) => [name, state]));

async function metric(name: string, model: string): Promise<number | undefined> {
  const text = await (await fetch(`${server.url}/metrics`)).text();
  return readSamples(text).get(`completionist_${name}{model="${model}"}`);
}

test("only the default model is loaded at the start, and all are listed without a load", async () => {
  const response = await fetch(`${server.url}/v1/models`);
  const { data } = (await response.json()) as { data: { id: string; max_model_len: number }[] };
  const lengths = Object.fromEntries(data.map((entry) => [entry.id, entry.max_model_len]));
  expect(lengths).toMatchObject({ a: 512, b: 512, c: 128, large: 16384, "davinci-002": 512 });
  expect(await health()).toMatchObject({ status: "ok" });
  expect(await statesOf()).toEqual({
    a: "loaded",
    b: "unloaded",
    c: "unloaded",
    large: "unloaded",
    broken: "unloaded",
  });
});

test("by turns each is loaded for its request and answers the same every time", async () => {
  const first: Record<string, string> = {};
  for (const model of ["a", "b", "c"]) first[model] = await answerOf(model);
  expect(await statesOf()).toMatchObject({ a: "unloaded", b: "loaded", c: "loaded" });
  expect(new Set(Object.values(first)).size).toBe(3);
  for (const model of ["a", "b", "c"]) expect(await answerOf(model)).toBe(first[model]);
  const counts = await Promise.all(
    ["a", "b", "c"].map(async (model) => [
      await metric("model_loads_total", model),
      await metric("model_unloads_total", model),
      await metric("engine_generated_tokens_total", model),
    ]),
  );
  expect(counts).toEqual([
    [2, 2, 8],
    [2, 1, 8],
    [2, 1, 8],
  ]);
});

test("requests for all of them at once are all answered", async () => {
  const models = Array.from({ length: 18 }, (_, index) => ["a", "b", "c"][index % 3] ?? "a");
  const answers = await Promise.all(models.map((model) => complete(model)));
  expect(answers.map(({ status }) => status)).toEqual(models.map(() => 200));
});

test("the settings of a model hold for it alone", async () => {
  const long = { max_tokens: 200 };
  expect((await complete("c", long)).status).toBe(400);
  expect((await complete("a", long)).status).toBe(200);
  expect((await complete("c", { suffix: "end" })).status).toBe(400);
});

test("a running stream keeps its model in memory while others are asked for", async () => {
  const running = await complete("a", { stream: true, max_tokens: 400, ignore_eos: true, n: 8 });
  expect(running.status).toBe(200);
  await answerOf("b");
  await answerOf("c");
  const frames = (await running.text()).split("\n\n");
  expect(frames.at(-2)).toBe("data: [DONE]");
  expect(frames.some((frame) => frame.includes('"error"'))).toBe(false);
});

test("a client that leaves while a model is loaded harms nobody", async () => {
  await answerOf("a");
  await answerOf("b");
  const leaver = new AbortController();
  const left = complete("c", {}, leaver.signal);
  leaver.abort();
  await expect(left).rejects.toThrow();
  await answerOf("c");
});

test("tokens of a model that is not loaded are told too", async () => {
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify({ model: "a", prompt: "Once" });
  const response = await fetch(`${server.url}/tokenize`, { method: "POST", headers, body });
  expect(await response.json()).toMatchObject({ max_model_len: 512 });
  const info = await fetch(`${server.url}/tokenizer_info?model=c`);
  expect(await info.json()).toMatchObject({ model_max_length: 128 });
});

test("a model that never fits is refused at once, with both sizes", async () => {
  const response = await complete("large");
  expect(response.status).toBe(503);
  expect(response.headers.get("x-should-retry")).toBe("false");
  const { error } = (await response.json()) as { error: { message: string } };
  expect(error.message).toMatch(/takes about \d.* [MG]B; .* may take 336 MB \(--memory\)/);
});

test("a model whose file broke is told by name, is not tried for each request, and harms no other", async () => {
  writeFileSync(join(folder, "broken.gguf"), "nothing");
  const answers = [await complete("broken"), await complete("broken")];
  for (const answer of answers) {
    expect(answer.status).toBe(503);
    const { error } = (await answer.json()) as { error: { code: string; message: string } };
    expect(error.code).toBe("model_unavailable");
    expect(error.message).toContain("broken.gguf");
    expect(error.message).not.toContain(folder);
  }
  expect(await metric("model_load_failures_total", "broken")).toBe(1);
  const { status, models } = await health();
  expect(status).toBe("ok");
  expect(models.find(({ name }) => name === "broken")).toMatchObject({
    state: "failed",
    reason: expect.stringContaining("broken.gguf"),
  });
  await answerOf("a");
});

test("models that are loaded at the start and do not fit together end the start", async () => {
  const config = join(folder, "both.yaml");
  const file = tinyGgufFile();
  const both = `{ a: { file: ${file} }, b: { file: ${file}, preload: true } }`;
  writeFileSync(config, `memory: 200MB\nthreads: 1\nmodels: ${both}\n`);
  await expect(startServer(["--config", config])).rejects.toThrow(
    /a, b take together about \d+ MB; all models together may take 210 MB/,
  );
});
