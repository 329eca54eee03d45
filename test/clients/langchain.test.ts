/** @langchain/openai (npm): batches by position, not by index, so the order of choices is all. */
import { OpenAI, type OpenAIInput } from "@langchain/openai";
import { afterAll, beforeAll, expect, test } from "vitest";
import { FaultProxy } from "./support/fault-proxy.ts";
import { modelName, sharedServerUrl, type WireLogprobs } from "./support/requests.ts";

let proxy: FaultProxy;

beforeAll(async () => {
  proxy = await FaultProxy.start(sharedServerUrl());
});

afterAll(async () => {
  await proxy?.stop();
});

const client = (fields: Partial<OpenAIInput>): OpenAI =>
  new OpenAI({
    model: modelName,
    apiKey: "none",
    maxRetries: 0,
    maxTokens: 3,
    configuration: { baseURL: `${proxy.url}/v1` },
    ...fields,
  });

const prompts = ["Red, green and", "One, two,", "The sky is"];

test("prompts with n = 2: the choices of each prompt lie together, in the order of prompts", async () => {
  const llm = client({ n: 2, modelKwargs: { echo: true, seed: 5 } });
  const { generations, llmOutput } = await llm.generate(prompts);
  expect(generations.map((choices) => choices.length)).toEqual([2, 2, 2]);
  for (const [index, choices] of generations.entries()) {
    for (const { text } of choices) expect(text.startsWith(prompts[index] as string)).toBe(true);
  }
  const { promptTokens, completionTokens, totalTokens } = llmOutput?.tokenUsage ?? {};
  expect(totalTokens).toBe(promptTokens + completionTokens);
  expect(completionTokens).toBeLessThanOrEqual(2 * 3 * 3);
});

test("streaming prompts with n = 2: index / n is the prompt", async () => {
  const llm = client({ n: 2, streaming: true, modelKwargs: { echo: true, seed: 5 } });
  const whole = await client({ n: 2, modelKwargs: { echo: true, seed: 5 } }).generate(prompts);
  const heard: string[][] = prompts.map(() => ["", ""]);
  const streamed = await llm.generate(prompts, {}, [
    {
      handleLLMNewToken: (token, { prompt, completion }) => {
        const texts = heard[prompt] as string[];
        texts[completion] = `${texts[completion]}${token}`;
      },
    },
  ]);
  const texts = (result: typeof whole) =>
    result.generations.map((choices) => choices.map(({ text }) => text));
  expect(texts(streamed)).toEqual(texts(whole));
  expect(heard).toEqual(texts(whole));
  const finishes = streamed.generations.flat().map(({ generationInfo }) => generationInfo);
  for (const info of finishes) expect(["stop", "length"]).toContain(info?.finishReason);
});

test("more prompts than its batch size are sent as several requests", async () => {
  const before = proxy.seen.length;
  const many = Array.from({ length: 5 }, (_, index) => `Number ${index}:`);
  const llm = client({ batchSize: 2, maxTokens: 1, modelKwargs: { echo: true } });
  const { generations } = await llm.generate(many);
  expect(proxy.seen.length - before).toBe(3);
  expect(generations.map(([first]) => first?.text.startsWith("Number"))).toEqual(
    many.map(() => true),
  );
  for (const [index, [first]] of generations.entries()) {
    expect(first?.text.startsWith(many[index] as string)).toBe(true);
  }
});

test("best_of = 3 with n = 2 and logprobs gives the best first", async () => {
  const llm = client({ bestOf: 3, n: 2, modelKwargs: { logprobs: 1, seed: 8 } });
  const { generations } = await llm.generate(["Once upon a"]);
  const means = generations[0]?.map(({ generationInfo }) => {
    const logprobs = generationInfo?.logprobs as WireLogprobs | undefined;
    const numbers = (logprobs?.token_logprobs ?? []) as number[];
    return numbers.reduce((total, value) => total + value, 0) / numbers.length;
  });
  expect(means).toHaveLength(2);
  expect(means?.[0]).toBeGreaterThanOrEqual(means?.[1] as number);
});

test("stream() gives the text of invoke()", async () => {
  const llm = client({ maxTokens: 8, modelKwargs: { seed: 4 } });
  const whole = await llm.invoke("The bridge was");
  let text = "";
  for await (const piece of await llm.stream("The bridge was")) text += piece;
  expect(text).toBe(whole);
});

test("stop strings of a call end the text before them", async () => {
  const llm = client({ maxTokens: 12, temperature: 0 });
  const free = await llm.invoke("The capital of France is");
  expect(free).toContain("Paris");
  const stopped = await llm.invoke("The capital of France is", { stop: ["Par"] });
  expect(stopped).toBe(free.slice(0, free.indexOf("Par")));
});

test("a refusal rejects with the server's status and message", async () => {
  const call = client({ temperature: 5 }).invoke("x");
  await expect(call).rejects.toMatchObject({ status: 400 });
  await expect(call).rejects.toThrow(/Invalid 'temperature'/);
});

test("aborting a call rejects it", async () => {
  const abort = new AbortController();
  const call = client({ maxTokens: 2000 }).invoke("Once", { signal: abort.signal });
  abort.abort();
  await expect(call).rejects.toThrow(/abort/i);
});
