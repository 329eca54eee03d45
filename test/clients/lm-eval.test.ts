/**
 * lm-evaluation-harness, `local-completions`: batches of token arrays with echo, read by position.
 * One entry too many or too few and every score of the harness is wrong without an error.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { tinyGgufFile } from "../../src/llama/testing/tiny-gguf.ts";
import { type ServerProcess, startServer } from "../support/server-process.ts";
import {
  complete,
  logprobsOf,
  modelName,
  onlyChoice,
  post,
  sharedServerUrl,
  sum,
  tokenize,
} from "./support/requests.ts";
import { pairs, scoreAsLmEval, type TokenPair, tokenizePair } from "./support/scoring.ts";

const common = { model: modelName, temperature: 0, seed: 1234 };
const scoring = { ...common, max_tokens: 1, logprobs: 1, echo: true };

let tokenPairs: readonly TokenPair[];

beforeAll(async () => {
  tokenPairs = await Promise.all(pairs.map(tokenizePair));
});

async function scoreBatch(batch: readonly TokenPair[]) {
  const { choices } = await complete({ ...scoring, prompt: batch.map(({ tokens }) => tokens) });
  const sorted = choices.toSorted((left, right) => left.index - right.index);
  expect(sorted).toHaveLength(batch.length);
  return batch.map(({ tokens, contextLength }, index) => {
    const logprobs = logprobsOf(sorted[index]);
    expect(logprobs.tokens).toHaveLength(tokens.length + 1);
    return { logprobs, ...scoreAsLmEval(logprobs, contextLength) };
  });
}

describe("loglikelihood", () => {
  test("a batch of token arrays gives prompt tokens + 1 entries each, in batch order", async () => {
    const scored = await scoreBatch(tokenPairs);
    for (const [index, { logprobs }] of scored.entries()) {
      const { context, continuation } = pairs[index] as (typeof pairs)[number];
      const bare = logprobs.tokens.slice(0, -1).filter((token) => !token.startsWith("bytes:"));
      for (const token of bare) expect(context + continuation).toContain(token);
      expect(logprobs.token_logprobs[0]).toBeNull();
      expect(logprobs.top_logprobs[0]).toBeNull();
    }
  });

  test("[ctxlen:-1] is the sum of what each token gets after the tokens before it", async () => {
    const { tokens, contextLength } = tokenPairs[0] as TokenPair;
    const [scored] = await scoreBatch([{ tokens, contextLength }]);
    const single: number[] = [];
    for (let end = contextLength; end < tokens.length; end++) {
      const forced = { logit_bias: { [String(tokens[end])]: 100 }, max_tokens: 1, logprobs: 0 };
      const answer = await complete({ ...common, ...forced, prompt: [tokens.slice(0, end)] });
      single.push(logprobsOf(onlyChoice(answer)).token_logprobs[0] as number);
    }
    expect(single).toHaveLength(tokens.length - contextLength);
    expect(Math.abs((scored?.logprob ?? 0) - sum(single))).toBeLessThan(0.15 * single.length);
  });

  test("greedy continuations are found by equality of printed numbers, others are not", async () => {
    const scored = await scoreBatch(tokenPairs.slice(0, 2));
    expect(scored.map(({ isGreedy }) => isGreedy)).toEqual([true, false]);
    expect(scored[0]?.logprob).toBeGreaterThan(scored[1]?.logprob as number);
  });

  test("every value is the very number in its map, also outside the top", async () => {
    for (const { logprobs } of await scoreBatch(tokenPairs)) {
      const { tokens, token_logprobs, top_logprobs } = logprobs;
      for (let index = 1; index < tokens.length; index++) {
        expect(top_logprobs[index]?.[tokens[index] as string]).toBe(token_logprobs[index]);
      }
    }
  });

  test("a batch scores as its members alone and as many requests at once, to the bit", async () => {
    const results = await scoreBatch(tokenPairs);
    const alone = await Promise.all(tokenPairs.map((pair) => scoreBatch([pair])));
    const scores = results.map(({ logprob, isGreedy }) => ({ logprob, isGreedy }));
    expect(alone.flat().map(({ logprob, isGreedy }) => ({ logprob, isGreedy }))).toEqual(scores);
  });

  test("the entry that is dropped is there even when the one generated token ends the text", async () => {
    const { tokens, contextLength } = tokenPairs[0] as TokenPair;
    const [end] = await tokenize("<|im_end|>");
    const logit_bias = { [String(end)]: 100 };
    const plain = await complete({ ...scoring, prompt: [tokens] });
    const ended = await complete({ ...scoring, prompt: [tokens], logit_bias });
    expect(onlyChoice(ended).finish_reason).toBe("stop");
    const logprobs = logprobsOf(onlyChoice(ended));
    expect(logprobs.tokens).toHaveLength(tokens.length + 1);
    expect(logprobs.tokens.at(-1)).toBe("<|im_end|>");
    expect(scoreAsLmEval(logprobs, contextLength)).toEqual(
      scoreAsLmEval(logprobsOf(onlyChoice(plain)), contextLength),
    );
  });

  test("without tokenized requests: strings score as their tokens", async () => {
    const texts = pairs.map(({ context, continuation }) => context + continuation);
    const { choices } = await complete({ ...scoring, prompt: texts });
    const fromTokens = await scoreBatch(tokenPairs);
    for (const [index, { logprobs }] of fromTokens.entries()) {
      expect(choices[index]?.logprobs).toEqual(logprobs);
    }
  });

  test("an empty bearer key is no hindrance where no key is asked for", async () => {
    const headers = { authorization: "Bearer " };
    const { tokens } = tokenPairs[0] as TokenPair;
    const response = await post("/v1/completions", { ...scoring, prompt: [tokens] }, { headers });
    expect(response.status).toBe(200);
  });
});

test("generate_until: more than four stop strings and fields of other servers", async () => {
  const body = {
    ...common,
    prompt: ["Question: what is the capital of France?\nAnswer:", "Q: 1 + 1?\nA:"],
    max_tokens: 12,
    stop: ["\n", "Question:", "Q:", "</s>", "<|im_end|>"],
    top_p: 0.95,
    repetition_penalty: 1.05,
    min_new_tokens: 1,
  };
  const { choices } = await complete(body);
  expect(choices.map(({ index }) => index)).toEqual([0, 1]);
  for (const { text } of choices) {
    for (const stop of body.stop) expect(text).not.toContain(stop);
  }
});

test("the remote tokenizer: end token from its text, ids from texts, texts from ids", async () => {
  const response = await fetch(`${sharedServerUrl()}/tokenizer_info`);
  const info = (await response.json()) as { eos_token: string; bos_token: string };
  expect(await tokenize(info.eos_token)).toHaveLength(1);
  expect(await tokenize(info.bos_token)).toHaveLength(1);
  const text = "test: Grüße, 水 😀";
  const detokenized = await post("/detokenize", { tokens: await tokenize(text) });
  expect(await detokenized.json()).toEqual({ prompt: text });
});

describe("with models that put a token in front of texts, and with long windows", () => {
  let server: ServerProcess;

  beforeAll(async () => {
    const file = tinyGgufFile({ variant: "bytes", contextLength: 2304 });
    server = await startServer(["--threads", "1", "--model", file]);
  });

  afterAll(async () => {
    await server?.stop();
  });

  test("token arrays are taken verbatim: nothing is put in front of them", async () => {
    const tokens = await tokenize("The river was high", server.url);
    const { choices, usage } = await complete(
      { ...scoring, model: "", prompt: [tokens] },
      server.url,
    );
    expect(usage?.prompt_tokens).toBe(tokens.length);
    expect(logprobsOf(choices[0]).tokens).toHaveLength(tokens.length + 1);
  });

  test("rolling perplexity: a window of 2,047 tokens that starts with the prefix token", async () => {
    const [prefix] = await tokenize("<s>", server.url);
    const words = await tokenize("The river was high and the bridge was closed. ", server.url);
    const filler = Array.from({ length: 2046 }, (_, index) => words[index % words.length]);
    const prompt = [[prefix, ...filler]];
    const { choices } = await complete({ ...scoring, model: "", prompt }, server.url);
    const values = logprobsOf(choices[0]).token_logprobs.slice(1, -1);
    expect(values).toHaveLength(2046);
    for (const value of values) expect(value).toBeLessThan(0);
  });
});
