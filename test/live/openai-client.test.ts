/** The official client against the default model, through the command that users start. */
import OpenAI, { APIError, BadRequestError, NotFoundError } from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ServerProcess, startServer } from "../support/server-process.ts";

const model = "SmolLM2-135M-Instruct";
let server: ServerProcess;
let client: OpenAI;

beforeAll(async () => {
  server = await startServer(["--threads", "1"]);
  client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: "none", maxRetries: 0 });
});

afterAll(async () => {
  expect(await server?.stop()).toBe(0);
});

describe("create", () => {
  test("completes a prompt, greedy the same each time", async () => {
    const body = { model, prompt: "The capital of France is", max_tokens: 5, temperature: 0 };
    const first = await client.completions.create(body);
    const second = await client.completions.create(body);
    expect(first.choices[0]?.text).toContain("Paris");
    expect(second.choices[0]?.text).toBe(first.choices[0]?.text);
    expect(first.object).toBe("text_completion");
    expect(first.id).toMatch(/^cmpl-[0-9A-Za-z]{29}$/);
    expect(first.choices[0]?.finish_reason).toBe("length");
    expect(first.usage).toMatchObject({ completion_tokens: 5 });
    expect(first._request_id).toMatch(/^req_[0-9a-f]{32}$/);
  });

  test("a token array gives what its text gives", async () => {
    const text = "Once upon a time, there was a";
    const tokenized = await fetch(`${server.url}/tokenize`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ prompt: text }),
    });
    const { tokens } = (await tokenized.json()) as { tokens: number[] };
    const body = { model, max_tokens: 8, temperature: 0, echo: true };
    const fromText = await client.completions.create({ ...body, prompt: text });
    const fromTokens = await client.completions.create({ ...body, prompt: tokens });
    expect(fromTokens.choices[0]?.text).toBe(fromText.choices[0]?.text);
    expect(fromTokens.usage?.prompt_tokens).toBe(tokens.length);
  });

  test("several prompts with n=2 give choices prompt by prompt", async () => {
    const prompts = ["Red, green and", "One, two,"];
    const body = { model, prompt: prompts, n: 2, max_tokens: 6, seed: 11, echo: true };
    const { choices, usage } = await client.completions.create(body);
    expect(choices.map((choice) => choice.index)).toEqual([0, 1, 2, 3]);
    for (const [index, choice] of choices.entries()) {
      expect(choice.text.startsWith(prompts[Math.floor(index / 2)] as string)).toBe(true);
    }
    expect(usage?.completion_tokens).toBeLessThanOrEqual(24);
    const again = await client.completions.create(body);
    expect(again.choices).toEqual(choices);
  });

  test("the retired names answer, and the answer names what was asked for", async () => {
    const { model: named } = await client.completions.create({
      model: "text-davinci-003",
      prompt: "Say this is a test",
      max_tokens: 7,
      temperature: 0,
    });
    expect(named).toBe("text-davinci-003");
  });
});

describe("stream", () => {
  test("gives the text of the whole answer, one finish reason, and the usage last", async () => {
    const body = { model, prompt: "The sky is", max_tokens: 12, seed: 5, n: 2 };
    const whole = await client.completions.create(body);
    const stream = await client.completions.create({
      ...body,
      stream: true,
      stream_options: { include_usage: true },
    });
    const texts = ["", ""];
    const finishes: number[] = [];
    let usage: OpenAI.CompletionUsage | null | undefined;
    for await (const chunk of stream) {
      usage = chunk.usage;
      for (const choice of chunk.choices) {
        texts[choice.index] += choice.text;
        if (choice.finish_reason !== null) finishes.push(choice.index);
      }
    }
    expect(texts).toEqual(whole.choices.map((choice) => choice.text));
    expect(finishes.toSorted()).toEqual([0, 1]);
    // The second request finds in the cache what the first has read: that count alone may differ.
    const { prompt_tokens_details: details, ...counts } = whole.usage as OpenAI.CompletionUsage;
    expect(usage).toMatchObject(counts);
    expect(usage?.prompt_tokens_details?.cached_tokens).toBeGreaterThanOrEqual(
      details?.cached_tokens ?? 0,
    );
  });

  test("ending the loop early frees the engine for the next request", async () => {
    const body = { model, prompt: "Once upon a time", max_tokens: 2000 } as const;
    const streams = await Promise.all(
      Array.from({ length: 8 }, () =>
        client.completions.create({ ...body, stream: true, logit_bias: { "2": -100 } }),
      ),
    );
    for (const stream of streams) {
      for await (const chunk of stream) {
        expect(chunk.choices.length).toBe(1);
        break;
      }
    }
    // All eight slots were busy for 2,000 tokens; this one would wait for minutes otherwise.
    const next = await client.completions.create({ model, prompt: "Hello", max_tokens: 1 });
    expect(next.choices.length).toBe(1);
  });

  test("an abort in mid-stream reaches the caller as the client's own error", async () => {
    const abort = new AbortController();
    const stream = await client.completions.create(
      { model, prompt: "Once upon a time", max_tokens: 1000, stream: true },
      { signal: abort.signal },
    );
    let chunks = 0;
    for await (const _ of stream) if (++chunks === 3) abort.abort();
    expect(chunks).toBeGreaterThanOrEqual(3);
    expect(chunks).toBeLessThan(1000);
  });
});

describe("errors are the client's own classes", () => {
  test("a field out of range", async () => {
    const call = client.completions.create({ model, prompt: "x", temperature: 3 });
    const error = await call.then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(BadRequestError);
    expect(error).toMatchObject({
      status: 400,
      type: "invalid_request_error",
      param: "temperature",
      code: "decimal_above_max_value",
    });
  });

  test("an unknown model", async () => {
    const call = client.completions.create({ model: "no-such-model", prompt: "x" });
    await expect(call).rejects.toBeInstanceOf(NotFoundError);
    await expect(call).rejects.toMatchObject({ code: "model_not_found" });
  });

  test("a prompt beyond the context", async () => {
    const call = client.completions.create({ model, prompt: "word ".repeat(5000) });
    await expect(call).rejects.toMatchObject({ code: "context_length_exceeded" });
    await expect(call).rejects.toThrow(/maximum context length is 4096 tokens/);
  });

  test("a stream with a bad field fails before it starts", async () => {
    const call = client.completions.create({ model, prompt: "x", top_p: 2, stream: true });
    await expect(call).rejects.toBeInstanceOf(APIError);
  });

  test("no key is needed, so a wrong one is no error", async () => {
    const other = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: "anything", maxRetries: 0 });
    const call = other.models.list();
    await expect(call).resolves.toBeDefined();
  });
});

test("models are listed and found by id", async () => {
  const ids: string[] = [];
  for await (const entry of client.models.list()) ids.push(entry.id);
  expect(ids).toContain(model);
  expect(ids).toContain("text-davinci-003");
  expect(await client.models.retrieve(model)).toMatchObject({ id: model, object: "model" });
});
