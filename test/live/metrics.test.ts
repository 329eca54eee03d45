/** What a scraped server says, against what was asked of it and across a real fault. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { tinyGgufFile } from "../../src/llama/testing/tiny-gguf.ts";
import { readSamples } from "../../src/observe/testing/samples.ts";
import { enginePid } from "../support/engine-pid.ts";
import { type ServerProcess, startServer } from "../support/server-process.ts";

let server: ServerProcess;

beforeAll(async () => {
  const model = ["--model", tinyGgufFile({ variant: "plain" }), "--slots", "2"];
  server = await startServer(["--threads", "1", ...model]);
});

afterAll(async () => {
  await server?.stop();
});

interface Usage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly prompt_tokens_details: { readonly cached_tokens: number };
}

async function complete(body: object): Promise<Usage> {
  const response = await fetch(`${server.url}/v1/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ ignore_eos: true, ...body }),
  });
  expect(response.status).toBe(200);
  return ((await response.json()) as { usage: Usage }).usage;
}

/** Metrics of the one model, by their name without prefix and label. */
async function scrape(): Promise<(name: string) => number> {
  const samples = readSamples(await (await fetch(`${server.url}/metrics`)).text());
  const ofModel = /^completionist_(\w+)\{model="[^"]*"\}$/;
  const byName = new Map([...samples].map(([key, value]) => [ofModel.exec(key)?.[1], value]));
  return (name) => {
    const value = byName.get(name);
    if (value === undefined) throw new Error(`there is no ${name}`);
    return value;
  };
}

const prompt = "The river went down to the sea, past the mill and the old stone bridge.";

test("a repeated prompt raises the counters of cached tokens by what usage says", async () => {
  const start = await scrape();
  const first = await complete({ prompt, max_tokens: 4 });
  const after = await scrape();
  const second = await complete({ prompt, max_tokens: 4 });
  const end = await scrape();
  const cached = second.prompt_tokens_details.cached_tokens;
  expect(first.prompt_tokens_details.cached_tokens).toBe(0);
  expect(cached).toBeGreaterThan(0);
  for (const name of ["cached_prompt_tokens_total", "engine_cached_tokens_total"]) {
    expect([start(name), after(name), end(name)]).toEqual([0, 0, cached]);
  }
  const read = "engine_read_tokens_total";
  expect(after(read)).toBe(first.prompt_tokens);
  expect(end(read) + end("engine_cached_tokens_total")).toBe(2 * first.prompt_tokens);
  expect(end("prompt_tokens_total")).toBe(2 * first.prompt_tokens);
  expect(end("completion_tokens_total")).toBe(8);
  expect(end("engine_generated_tokens_total")).toBe(8);
  expect(end("time_to_first_token_seconds_count")).toBe(2);
});

test("an idle engine has no queue, no busy slot, and keeps the prompt it has read", async () => {
  const { prompt_tokens: length } = await complete({ prompt, max_tokens: 1 });
  const now = await scrape();
  const idle = ["engine_queued_jobs", "engine_running_candidates", "engine_busy_slots"];
  expect(idle.map(now)).toEqual([0, 0, 0]);
  expect([now("engine_up"), now("engine_slots")]).toEqual([1, 2]);
  expect(now("engine_kv_capacity_tokens")).toBe(2 * 512);
  expect(now("engine_kv_idle_tokens")).toBe(now("engine_kv_tokens"));
  expect(now("engine_kv_tokens")).toBeGreaterThanOrEqual(length);
  const health = await (await fetch(`${server.url}/health`)).json();
  const model = { name: expect.stringMatching(/^tiny-plain-/), state: "loaded", restarts: 0 };
  const counts = { restarts: 0, hangs: 0, queued: 0, running: 0 };
  expect(health).toEqual({ status: "ok", ...counts, models: [model] });
});

test("counters go on after the engine was killed", async () => {
  const names = [
    "engine_read_tokens_total",
    "engine_cached_tokens_total",
    "engine_generated_tokens_total",
    "engine_cpu_seconds_total",
  ];
  const before = await scrape();
  process.kill(enginePid(server), "SIGKILL");
  await complete({ prompt, max_tokens: 4 }).catch(() => undefined);
  const { prompt_tokens: length } = await complete({ prompt: `${prompt} `, max_tokens: 3 });
  const after = await scrape();
  expect(length).toBeGreaterThan(0);
  for (const name of names) expect(after(name), name).toBeGreaterThanOrEqual(before(name));
  const generated = "engine_generated_tokens_total";
  expect(after(generated)).toBeGreaterThanOrEqual(before(generated) + 3);
  expect(after("engine_read_tokens_total")).toBeGreaterThan(before("engine_read_tokens_total"));
  expect([after("engine_up"), after("engine_restarts_total")]).toEqual([1, 1]);
});
