/** ai + @ai-sdk/openai-compatible (npm): every body and chunk goes through their zod schemas. */
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { APICallError, generateText, type LanguageModel, streamText } from "ai";
import { afterAll, beforeAll, expect, test } from "vitest";
import { FaultProxy } from "./support/fault-proxy.ts";
import { modelName, sharedServerUrl } from "./support/requests.ts";

let proxy: FaultProxy;
let model: LanguageModel;

beforeAll(async () => {
  globalThis.AI_SDK_LOG_WARNINGS = false;
  proxy = await FaultProxy.start(sharedServerUrl());
  const provider = createOpenAICompatible({
    name: "completionist",
    baseURL: `${proxy.url}/v1`,
    includeUsage: true,
  });
  model = provider.completionModel(modelName);
});

afterAll(async () => {
  await proxy?.stop();
});

const lastBody = () => JSON.parse(proxy.seen.at(-1)?.body ?? "{}") as Record<string, unknown>;

test("generateText: the prompt becomes a dialogue with a stop string of its own", async () => {
  const result = await generateText({
    model,
    prompt: "Name a colour.",
    maxOutputTokens: 8,
    temperature: 0,
  });
  expect(lastBody()).toMatchObject({
    prompt: "user:\nName a colour.\n\nassistant:\n",
    stop: ["\nuser:"],
  });
  expect(result.text).not.toBe("");
  expect(result.text).not.toContain("\nuser:");
  expect(["stop", "length"]).toContain(result.finishReason);
  expect(result.usage.outputTokens).toBeGreaterThan(0);
  expect(result.usage.totalTokens).toBe(
    (result.usage.inputTokens ?? 0) + (result.usage.outputTokens ?? 0),
  );
  expect(result.response.modelId).toBe(modelName);
  expect(result.response.id).toMatch(/^cmpl-/);
});

test("streamText gives the text, finish reason and usage of generateText", async () => {
  const settings = { model, prompt: "Count: one, two,", maxOutputTokens: 10, seed: 21 };
  const whole = await generateText(settings);
  const stream = streamText(settings);
  let text = "";
  for await (const piece of stream.textStream) text += piece;
  expect(lastBody()).toMatchObject({ stream: true, stream_options: { include_usage: true } });
  expect(text).toBe(whole.text);
  expect(await stream.finishReason).toBe(whole.finishReason);
  const { inputTokens, outputTokens } = await stream.usage;
  expect({ inputTokens, outputTokens }).toEqual({
    inputTokens: whole.usage.inputTokens,
    outputTokens: whole.usage.outputTokens,
  });
});

test("four stop sequences of the user and the client's own make five", async () => {
  const stopSequences = ["\n", ".", "!", "?"];
  const result = await generateText({
    model,
    prompt: "Say one word.",
    stopSequences,
    maxOutputTokens: 12,
  });
  expect(lastBody().stop).toEqual(["\nuser:", ...stopSequences]);
  for (const stop of stopSequences) expect(result.text).not.toContain(stop);
});

test("echo and suffix reach the server as provider options", async () => {
  const echoed = await generateText({
    model,
    prompt: "A river",
    maxOutputTokens: 2,
    providerOptions: { completionist: { echo: true } },
  });
  expect(echoed.text.startsWith("user:\nA river\n\nassistant:\n")).toBe(true);
  const inserted = await generateText({
    model,
    prompt: "A river",
    maxOutputTokens: 3,
    providerOptions: { completionist: { suffix: " is long." } },
  });
  expect(lastBody().suffix).toBe(" is long.");
  expect(inserted.usage.outputTokens).toBeGreaterThan(0);
});

test("`logprobs` in the body: the chunks that carry them pass its schema", async () => {
  const stream = streamText({
    model,
    prompt: "A river",
    maxOutputTokens: 3,
    providerOptions: { completionist: { logprobs: 5 } },
  });
  const kinds: string[] = [];
  for await (const part of stream.fullStream) kinds.push(part.type);
  expect(lastBody().logprobs).toBe(5);
  expect(kinds).not.toContain("error");
  expect(kinds.filter((kind) => kind === "text-delta").length).toBeGreaterThan(0);
});

test("a refusal is an APICallError with the server's message, and is not repeated", async () => {
  const before = proxy.seen.length;
  const call = generateText({ model, prompt: "A river", temperature: 3 });
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(APICallError.isInstance(error)).toBe(true);
  expect(error).toMatchObject({ statusCode: 400, isRetryable: false });
  expect((error as APICallError).message).toMatch(/^Invalid 'temperature'/);
  expect(proxy.seen.length - before).toBe(1);
});

test("a stream that is refused reports the error as a part", async () => {
  const errors: unknown[] = [];
  const stream = streamText({
    model,
    prompt: "A river",
    topP: 2,
    onError: ({ error }) => {
      errors.push(error);
    },
  });
  for await (const part of stream.fullStream) {
    if (part.type === "error") errors.push(part.error);
  }
  expect(errors.length).toBeGreaterThan(0);
  for (const error of errors) expect(APICallError.isInstance(error)).toBe(true);
});
