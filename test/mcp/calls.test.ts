/** Calls of the tools over standard input and output, as agent hosts make them. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type AgentHost,
  call,
  complete,
  completionTool,
  endless,
  engineOptions,
  errorOf,
  startHost,
  textsOf,
} from "./support/agent-host.ts";

let host: AgentHost;

beforeAll(async () => {
  host = await startHost(engineOptions());
  // The client checks results against output schemas that it knows.
  await host.client.listTools();
});

afterAll(() => host?.close());

describe("a completion", () => {
  test("answers the published example", async () => {
    const result = await complete(host.client, { model: "example", prompt: "<|endoftext|>" });
    expect(result.isError).toBeUndefined();
    expect(result.structuredContent).toMatchObject({
      id: expect.stringMatching(/^cmpl-/),
      object: "text_completion",
      created: expect.any(Number),
      model: "example",
      choices: [{ index: 0, text: expect.any(String), logprobs: null }],
      usage: { prompt_tokens: 1 },
      system_fingerprint: expect.stringMatching(/^fp_/),
    });
    const { choices } = result.structuredContent as { choices: { text: string }[] };
    expect(textsOf(result)).toEqual([choices[0]?.text]);
  });

  test("gives the text of every choice, in order", async () => {
    const body = { model: "example", prompt: ["One", "Two"], n: 2, echo: true, max_tokens: 4 };
    const result = await complete(host.client, body);
    const texts = textsOf(result);
    expect(texts.map((text) => text.slice(0, 3))).toEqual(["One", "One", "Two", "Two"]);
    const { choices } = result.structuredContent as { choices: { text: string; index: number }[] };
    expect(choices.map(({ text }) => text)).toEqual(texts);
    expect(choices.map(({ index }) => index)).toEqual([0, 1, 2, 3]);
  });

  test("takes every form of prompt, and null for the defaults", async () => {
    const forms = ["Hi", null, ["Hi", "Ho"], [1, 2, 3], [[1, 2], [3]]];
    for (const prompt of forms) {
      const nulls = { n: null, stop: null, stream: null, stream_options: null, suffix: null };
      const result = await complete(host.client, { model: "davinci-002", prompt, ...nulls });
      expect(result.isError).toBeUndefined();
    }
  });

  test("carries logprobs as the API writes them", async () => {
    const body = { model: "example", prompt: "Hi", logprobs: 3, max_tokens: 2, temperature: 0 };
    const result = await complete(host.client, { ...body, ignore_eos: true });
    const { choices } = result.structuredContent as {
      choices: {
        logprobs: { tokens: string[]; token_logprobs: number[]; top_logprobs: object[] };
      }[];
    };
    const { tokens, token_logprobs, top_logprobs } = choices[0]?.logprobs ?? {};
    expect(tokens).toHaveLength(2);
    const top = top_logprobs?.[0] as Record<string, number>;
    // At temperature 0 the token is the likeliest one.
    expect(top[tokens?.[0] ?? ""]).toBe(Math.max(...Object.values(top)));
    expect(top[tokens?.[0] ?? ""]).toBe(token_logprobs?.[0]);
  });
});

describe("progress", () => {
  test("counts the tokens up to what the completion has", async () => {
    const seen: { progress: number; total?: number | undefined }[] = [];
    const body = { model: "example", prompt: "Hi", max_tokens: 2000, ignore_eos: true };
    const request = { name: completionTool, arguments: { body } };
    const onprogress = (progress: { progress: number; total?: number | undefined }) =>
      seen.push(progress);
    const result = await host.client.callTool(request, undefined, { onprogress });
    const { usage } = result.structuredContent as { usage: { completion_tokens: number } };
    expect(usage.completion_tokens).toBe(2000);
    expect(seen[0]).toMatchObject({ progress: 0, total: 2000, message: "reading the prompt" });
    expect(seen.length).toBeGreaterThan(1);
    const counts = seen.map(({ progress }) => progress);
    expect(counts).toEqual([...new Set(counts)].sort((a, b) => a - b));
    expect(counts.at(-1)).toBeLessThanOrEqual(2000);
  });
});

describe("one call at a time", () => {
  test("a cancelled call leaves the engine free at once", async () => {
    const cancelled = new AbortController();
    const running = host.client.callTool(
      { name: completionTool, arguments: { body: endless } },
      undefined,
      {
        signal: cancelled.signal,
        onprogress: ({ progress }) => progress > 0 && cancelled.abort("enough"),
      },
    );
    await expect(running).rejects.toThrow("enough");
    // It would have to wait for minutes behind the other one.
    const next = await complete(host.client, { model: "example", prompt: "Hi", max_tokens: 1 });
    expect(next.isError).toBeUndefined();
  });

  test("calls that wait are answered in the order in which they came", async () => {
    const order: number[] = [];
    const calls = Array.from({ length: 6 }, async (_, index) => {
      // The first takes longest: run at once, the others would overtake it.
      const body = { model: "example", prompt: "Hi", max_tokens: 300 - 50 * index };
      await complete(host.client, { ...body, ignore_eos: true });
      order.push(index);
    });
    await Promise.all(calls);
    expect(order).toEqual([0, 1, 2, 3, 4, 5]);
  });

  test("a waiting call can be cancelled, and models are listed meanwhile", async () => {
    const stop = { first: new AbortController(), second: new AbortController() };
    const started = Promise.withResolvers<void>();
    const request = { name: completionTool, arguments: { body: endless } };
    const first = host.client.callTool(request, undefined, {
      signal: stop.first.signal,
      onprogress: () => started.resolve(),
    });
    await started.promise;
    const second = host.client.callTool(request, undefined, { signal: stop.second.signal });
    const models = await call(host.client, "list_models", {});
    expect(textsOf(models)[0]).toContain("example");
    stop.second.abort("changed my mind");
    await expect(second).rejects.toThrow("changed my mind");
    stop.first.abort("enough");
    await expect(first).rejects.toThrow("enough");
    expect(
      (await complete(host.client, { model: "example", prompt: "Hi" })).isError,
    ).toBeUndefined();
  });
});

describe("scores", () => {
  const text = "The capital of France";

  test("are those of an echoed completion", async () => {
    const echoed = await complete(host.client, {
      ...{ model: "example", prompt: text, max_tokens: 0, echo: true, logprobs: 0 },
    });
    const { choices } = echoed.structuredContent as {
      choices: { logprobs: { tokens: string[]; token_logprobs: (number | null)[] } }[];
    };
    const { tokens, token_logprobs: values = [] } = choices[0]?.logprobs ?? {};
    const known = values.filter((value) => value !== null);
    const sum = known.reduce((total, value) => total + value, 0);
    const result = await call(host.client, "score", { input: text });
    const scores = result.structuredContent as { tokens: { token: string; logprob: number }[] };
    expect(scores.tokens.map(({ token }) => token)).toEqual(tokens);
    expect(scores.tokens.map(({ logprob }) => logprob)).toEqual(values);
    expect(scores).toMatchObject({
      scored_tokens: known.length,
      sum_logprob: sum,
      mean_logprob: sum / known.length,
      perplexity: Math.exp(-sum / known.length),
    });
    expect(textsOf(result)[0]).toMatch(/perplexity \d/);
  });

  test("can be had of token ids, with the likeliest tokens of each place", async () => {
    const result = await call(host.client, "score", { input: [1, 2, 3], top_logprobs: 2 });
    const { tokens } = result.structuredContent as {
      tokens: { logprob: number | null; top_logprobs: object | null }[];
    };
    expect(tokens.map(({ logprob }) => typeof logprob)).toEqual(["object", "number", "number"]);
    expect(tokens[0]?.top_logprobs).toBeNull();
    expect(Object.keys(tokens[1]?.top_logprobs ?? {}).length).toBeGreaterThanOrEqual(2);
  });

  test("of a single token are none", async () => {
    const result = await call(host.client, "score", { input: [5] });
    expect(result.structuredContent).toMatchObject({
      scored_tokens: 0,
      sum_logprob: 0,
      mean_logprob: null,
      perplexity: null,
    });
  });

  test.each([{}, { input: "" }, { input: [] }, { input: ["a"] }, { input: "a", top_logprobs: 6 }])(
    "refuse %j",
    async (given) => {
      expect(errorOf(await call(host.client, "score", given))).toMatchObject({
        type: "invalid_request_error",
      });
    },
  );
});

test("models are listed with their aliases and the length of their context", async () => {
  const result = await call(host.client, "list_models", {});
  const { data } = result.structuredContent as { data: { id: string; max_model_len: number }[] };
  expect(data.map(({ id }) => id).slice(1)).toEqual([
    ...["example", "gpt-3.5-turbo-instruct", "davinci-002", "babbage-002", "text-davinci-003"],
  ]);
  expect(new Set(data.map((model) => model.max_model_len))).toEqual(new Set([8192]));
});

test("an unknown tool is an error of the protocol", async () => {
  await expect(call(host.client, "create", {})).rejects.toMatchObject({ code: -32602 });
});
