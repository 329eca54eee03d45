/**
 * Typed clients for which every deviation is an error: async-openai (Rust) and openai-go. Their
 * types are written down here as schemas, and every kind of answer has to fit.
 */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import {
  complete,
  modelName,
  post,
  sharedServerUrl,
  streamText,
  tokenize,
} from "./support/requests.ts";

const u32 = z
  .int()
  .min(0)
  .max(2 ** 32 - 1);

/** async-openai: all four lists, values null or numbers, maps null or objects of numbers. */
const logprobs = z.object({
  tokens: z.array(z.string()),
  token_logprobs: z.array(z.number().nullable()),
  top_logprobs: z.array(z.record(z.string(), z.number()).nullable()),
  text_offset: z.array(u32),
});

const choice = z.object({
  text: z.string(),
  index: u32,
  logprobs: logprobs.nullable(),
  finish_reason: z.enum(["stop", "length", "content_filter"]).nullable(),
});

const usage = z.object({ prompt_tokens: u32, completion_tokens: u32, total_tokens: u32 });

/** Bodies and chunks are one type. `usage` may be absent or null, never in part. */
const answer = z.object({
  id: z.string(),
  choices: z.array(choice),
  created: u32,
  model: z.string(),
  system_fingerprint: z.string().nullish(),
  object: z.literal("text_completion"),
  usage: usage.nullish(),
});

const apiError = z.object({
  error: z.object({
    message: z.string(),
    type: z.string().nullish(),
    param: z.string().nullish(),
    code: z.string().nullish(),
  }),
});

const requests: readonly (readonly [string, object])[] = [
  ["plain", { prompt: "The river", max_tokens: 3 }],
  ["logprobs", { prompt: "The river", max_tokens: 3, logprobs: 5 }],
  ["logprobs 0", { prompt: "The river", max_tokens: 3, logprobs: 0 }],
  ["echo", { prompt: "The river", max_tokens: 2, echo: true }],
  ["echo with logprobs", { prompt: "Grüße 😀", max_tokens: 2, echo: true, logprobs: 2 }],
  ["scoring", { prompt: ["The river", "水"], max_tokens: 0, echo: true, logprobs: 1 }],
  ["no prompt", { max_tokens: 2, logprobs: 1 }],
  ["n of several prompts", { prompt: ["One", "Two"], n: 2, best_of: 2, max_tokens: 2 }],
  ["nothing to do", { prompt: "The river", max_tokens: 0, logprobs: 1 }],
  ["insertion", { prompt: "The river", suffix: " high.", max_tokens: 2, logprobs: 1 }],
  ["usage", { prompt: "One", max_tokens: 2, stream_options: { include_usage: true } }],
  [
    "usage on every chunk",
    { prompt: "One", max_tokens: 2, stream_options: { continuous_usage_stats: true } },
  ],
  ["obfuscation", { prompt: "One", max_tokens: 2, stream_options: { include_obfuscation: true } }],
];

/** The data of each event, as a reader of lines sees it: `[DONE]` is compared exactly. */
function events(stream: string): string[] {
  const data = stream
    .split("\n")
    .filter((line) => line.startsWith("data: "))
    .map((line) => line.slice("data: ".length));
  expect(data.pop()).toBe("[DONE]");
  return data;
}

describe.each(requests)("async-openai: %s", (_, body) => {
  test("the body has its types", async () => {
    const { choices, usage: counted } = answer.parse(await complete({ model: modelName, ...body }));
    expect(counted).not.toBeNull();
    for (const { logprobs: lists } of choices) {
      const lengths = Object.values(lists ?? {}).map((list) => list.length);
      expect(new Set(lengths).size).toBeLessThanOrEqual(1);
    }
  });

  test("each chunk has its types, the same id, time and model, and one finish per choice", async () => {
    const chunks = events(await streamText({ model: modelName, ...body })).map((data) =>
      answer.parse(JSON.parse(data)),
    );
    const heads = chunks.map(({ id, created, model }) => `${id} ${created} ${model}`);
    expect(new Set(heads).size).toBe(1);
    const choices = chunks.flatMap((chunk) => chunk.choices);
    const indexes = new Set(choices.map(({ index }) => index));
    const finished = choices.filter((part) => part.finish_reason !== null);
    expect(finished.map(({ index }) => index).toSorted()).toEqual([...indexes].toSorted());
  });
});

describe.each([
  ["a range", "/v1/completions", { prompt: "x", temperature: 3 }],
  ["a type", "/v1/completions", { prompt: "x", n: "two" }],
  ["a token", "/v1/completions", { prompt: [99999999] }],
  ["a model", "/v1/completions", { model: "no-such-model", prompt: "x" }],
  ["a route", "/v1/embeddings", { input: "x" }],
])("errors for %s", (_, path, body) => {
  test("async-openai: an object with a message, code a string or null", async () => {
    const response = await post(path, { model: modelName, ...body });
    expect(response.status).toBeGreaterThanOrEqual(400);
    apiError.parse(await response.json());
  });

  test("openai-go: all four keys are there", async () => {
    const response = await post(path, { model: modelName, ...body });
    const { error } = (await response.json()) as { error: object };
    expect(Object.keys(error).toSorted()).toEqual(["code", "message", "param", "type"]);
  });
});

describe("openai-go", () => {
  test.each(requests)("%s: no good answer has an `error` key, not even null", async (_, body) => {
    expect(await complete({ model: modelName, ...body })).not.toHaveProperty("error");
    for (const data of events(await streamText({ model: modelName, ...body }))) {
      expect(JSON.parse(data)).not.toHaveProperty("error");
    }
  });

  test("the longest line of the largest scoring answer stays below 32 MiB", async () => {
    const lineBytesMax = 32 * 2 ** 20;
    const prompt = "The river was high, and the bridge was closed. ".repeat(8);
    const body = { model: modelName, prompt, echo: true, logprobs: 20, max_tokens: 1 };
    const lines = (await streamText(body)).split("\n").map((line) => Buffer.byteLength(line));
    const tokens = (await tokenize(prompt)).length;
    const response = await fetch(`${sharedServerUrl()}/v1/models/${modelName}`);
    const { max_model_len } = (await response.json()) as { max_model_len: number };
    // Twice what this text needs, since others have longer tokens.
    const largest = (2 * Math.max(...lines) * max_model_len) / tokens;
    expect(largest).toBeLessThan(lineBytesMax);
  });
});
