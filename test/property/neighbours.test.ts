/**
 * Reproducible: text and logprobs of a request are the same bytes alone, beside others, in another
 * slot, and again when its prompt is already known.
 */
import { afterEach, expect, test } from "vitest";
import { tinyGgufFile } from "../../src/llama/testing/tiny-gguf.ts";
import { type ServerProcess, startServer } from "../support/server-process.ts";

const slots = 8;
const request = {
  prompt: "The ferry left the harbour at dawn, and by noon the island was",
  max_tokens: 16,
  temperature: 0.8,
  seed: 7,
  echo: true,
  logprobs: 3,
  ignore_eos: true,
};

const servers: ServerProcess[] = [];

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.stop()));
});

async function start(options: readonly string[]): Promise<string> {
  const common = ["--threads", "1", "--log-level", "error", "--slots", String(slots)];
  const server = await startServer([...common, ...options]);
  servers.push(server);
  return server.url;
}

function post(url: string, body: object, signal?: AbortSignal): Promise<Response> {
  return fetch(`${url}/v1/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
    ...(signal === undefined ? {} : { signal }),
  });
}

/** The bytes of the choices, as they came. */
async function choicesOf(url: string): Promise<string> {
  const response = await post(url, request);
  const text = await response.text();
  expect(response.status, text).toBe(200);
  return text.slice(text.indexOf('"choices":'), text.indexOf(',"usage":'));
}

/** Streams that run on until they are told to stop; each has given its first token. */
async function startNeighbours(url: string, count: number): Promise<() => Promise<void>> {
  const leave = new AbortController();
  const started: Promise<void>[] = [];
  const ended: Promise<void>[] = [];
  for (let neighbour = 0; neighbour < count; neighbour += 1) {
    const prompt = `Neighbour ${neighbour}: ${"on and on, ".repeat(neighbour + 1)}`;
    const body = { prompt, max_tokens: 400, stream: true, seed: neighbour, ignore_eos: true };
    const response = await post(url, body, leave.signal);
    const first = Promise.withResolvers<void>();
    started.push(first.promise);
    ended.push(readOn(response, first.resolve));
  }
  await Promise.all(started);
  return async () => {
    leave.abort();
    await Promise.all(ended);
  };
}

async function readOn(response: Response, onFirst: () => void): Promise<void> {
  try {
    for await (const _ of response.body as unknown as AsyncIterable<Uint8Array>) onFirst();
  } catch {
    // left, as told
  }
}

async function beside(url: string, count: number): Promise<string> {
  const leave = await startNeighbours(url, count);
  const choices = await choicesOf(url);
  await leave();
  return choices;
}

test.for([
  ["the default model", []],
  ["a tiny model of float32", ["--model", tinyGgufFile()]],
  ["a tiny model of Q8_0", ["--model", tinyGgufFile({ tensorType: "q8_0" })]],
] as const)(
  "%s gives the same bytes alone, beside 1 and 7 others, in any slot",
  async ([, options]) => {
    const first = await start(options);
    const alone = await choicesOf(first);
    expect(alone).toContain('"token_logprobs":[null,');
    expect(await choicesOf(first)).toBe(alone);
    expect(await beside(first, 1)).toBe(alone);
    // Here the seven came first, so that the request neither knows its prompt nor has the first slot.
    const second = await start(options);
    expect(await beside(second, slots - 1)).toBe(alone);
    expect(await beside(second, 1)).toBe(alone);
  },
);
