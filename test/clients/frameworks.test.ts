/**
 * Application frameworks in Python and on the command line: LangChain, LiteLLM and DSPy, promptfoo,
 * simonw/llm, OpenAI's evals. Their requests, read by their rules.
 */
import { describe, expect, test } from "vitest";
import {
  chunksOf,
  complete,
  logprobsOf,
  modelName,
  onlyChoice,
  post,
  streamText,
  tokenize,
} from "./support/requests.ts";

describe("LangChain for Python", () => {
  const body = {
    model: modelName,
    prompt: ["The sky is", "One, two,"],
    temperature: 0.7,
    max_tokens: 4,
    top_p: 1,
    n: 2,
    logit_bias: {},
    logprobs: null,
    seed: null,
    frequency_penalty: 0,
    presence_penalty: 0,
  };

  test("nulls and an empty bias mean the defaults; choices come prompt by prompt", async () => {
    const { choices, usage } = await complete({ ...body, echo: true });
    const starts = choices.map(({ text }) =>
      body.prompt.findIndex((start) => text.startsWith(start)),
    );
    expect(starts).toEqual([0, 0, 1, 1]);
    expect(usage?.total_tokens).toBeGreaterThan(0);
  });

  test("merging the chunks of a stream makes one finish reason, not two joined", async () => {
    const request = { ...body, prompt: "The sky is", n: 1 };
    const chunks = chunksOf(await streamText(request));
    const merged = chunks.map(({ choices }) => choices[0]?.finish_reason ?? "").join("");
    expect(["stop", "length"]).toContain(merged);
  });
});

describe("LiteLLM, and DSPy on top of it", () => {
  const tooLong = { model: modelName, prompt: "word ".repeat(4200), max_tokens: 7 };

  async function message(body: object): Promise<string> {
    const response = await post("/v1/completions", body);
    return ((await response.json()) as { error: { message: string } }).error.message;
  }

  test("a prompt that is too long is known by the words, and its numbers can be read", async () => {
    const text = await message(tooLong);
    expect(text.toLowerCase()).toContain("this model's maximum context length is");
    const requested = Number(/requested (\d+) tokens/.exec(text)?.[1]);
    const prompt = Number(/\((\d+) in your prompt/.exec(text)?.[1]);
    const completion = Number(/; (\d+) for the completion/.exec(text)?.[1]);
    expect(prompt).toBe((await tokenize(tooLong.prompt)).length);
    expect(completion).toBe(tooLong.max_tokens);
    expect(requested).toBe(prompt + completion);
  });

  test("no other refusal speaks of a rate limit, which would make it one", async () => {
    const bodies = [
      tooLong,
      { model: modelName, n: 1000 },
      { model: "no-such-model" },
      { model: modelName, prompt: ["x"], n: 128, best_of: 1 },
      { model: modelName, logprobs: 99 },
    ];
    for (const body of bodies) expect(await message(body)).not.toMatch(/rate.?limit/i);
  });

  test("DSPy's text mode: a prompt that ends in its own marker", async () => {
    const prompt = "Question: what is 1 + 1?\n\nBEGIN RESPONSE:";
    const { usage, choices } = await complete({ model: modelName, prompt, max_tokens: 4 });
    expect(typeof choices[0]?.text).toBe("string");
    expect(usage?.prompt_tokens).toBeGreaterThan(0);
  });
});

test("promptfoo: best_of 1, and stop strings that are special tokens end a completion", async () => {
  const common = { model: modelName, prompt: "Say: bananas", max_tokens: 8, temperature: 0 };
  const fields = { top_p: 1, presence_penalty: 0, frequency_penalty: 0, best_of: 1 };
  const stop = ["<|im_end|>", "<|endoftext|>"];
  const plain = await complete({ ...common, ...fields, stop });
  expect(onlyChoice(plain).text).not.toMatch(/<\|(im_end|endoftext)\|>/);
  const [start] = await tokenize("<|endoftext|>");
  const forced = { ignore_eos: true, logit_bias: { [String(start)]: 100 } };
  const stopped = await complete({ ...common, ...fields, ...forced, stop });
  expect(onlyChoice(stopped)).toMatchObject({ text: "", finish_reason: "stop" });
});

test("simonw/llm: the texts and logprobs of the chunks are those of the whole answer", async () => {
  const body = { model: modelName, prompt: "One, two,", max_tokens: 5, seed: 6, logprobs: 3 };
  const whole = onlyChoice(await complete(body));
  const parts = chunksOf(await streamText(body)).map(onlyChoice);
  expect(parts.map(({ text }) => text).join("")).toBe(whole.text);
  expect(parts.flatMap((part) => logprobsOf(part).top_logprobs)).toEqual(
    logprobsOf(whole).top_logprobs,
  );
});

test("OpenAI's evals: text, texts and tokens are three ways to ask the same", async () => {
  const text = "The capital of France is";
  const body = { model: modelName, max_tokens: 3, temperature: 0 };
  const prompts = [text, [text], await tokenize(text)];
  const answers = await Promise.all(prompts.map((prompt) => complete({ ...body, prompt })));
  const texts = answers.map((answer) => onlyChoice(answer).text);
  expect(new Set(texts).size).toBe(1);
  expect(answers.map(({ model }) => model)).toEqual(Array(3).fill(modelName));
});
