/**
 * lm-evaluation-harness, `gguf`: one string at a time, no model named, the continuation found by
 * walking the offsets; every entry from there on, the last one too, must have a map to look into.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { tinyGgufFile } from "../../src/llama/testing/tiny-gguf.ts";
import { type ServerProcess, startServer } from "../support/server-process.ts";
import {
  codePoints,
  complete,
  logprobsOf,
  onlyChoice,
  post,
  sum,
  tokenize,
  type WireLogprobs,
} from "./support/requests.ts";
import { pairs, type Scored } from "./support/scoring.ts";

const body = { logprobs: 10, temperature: 0 };
const scoring = { ...body, max_tokens: 1, echo: true };

/** Index of the first entry at or behind the end of the context. */
function walk(logprobs: WireLogprobs, context: string): number {
  let index = 0;
  while ((logprobs.text_offset[index] as number) < codePoints(context)) index += 1;
  return index;
}

function score(logprobs: WireLogprobs, context: string): Scored {
  const start = walk(logprobs, context);
  let isGreedy = true;
  for (let index = start; index < logprobs.tokens.length; index++) {
    const top = logprobs.top_logprobs[index];
    expect(top).not.toBeNull();
    const best = Object.entries(top ?? {}).toSorted(([, left], [, right]) => right - left)[0];
    if (best?.[0] !== logprobs.tokens[index]) isGreedy = false;
  }
  const values = logprobs.token_logprobs.slice(start, -1) as readonly number[];
  return { logprob: sum(values), isGreedy };
}

describe.each(pairs)("$context|$continuation", ({ context, continuation }) => {
  test("the walk stops at the first token of the continuation", async () => {
    const answer = await complete({ ...scoring, prompt: context + continuation });
    const logprobs = logprobsOf(onlyChoice(answer));
    const start = walk(logprobs, context);
    expect(logprobs.text_offset[start]).toBe(codePoints(context));
    expect(logprobs.tokens.slice(start, -1)).toHaveLength(
      (await tokenize(context + continuation)).length - (await tokenize(context)).length,
    );
    for (const value of logprobs.token_logprobs.slice(start)) expect(value).toBeLessThanOrEqual(0);
  });
});

test("greedy and not greedy, the generated token at the end included", async () => {
  const scored: Scored[] = [];
  for (const { context, continuation } of pairs.slice(0, 2)) {
    const answer = await complete({ ...scoring, prompt: context + continuation });
    scored.push(score(logprobsOf(onlyChoice(answer)), context));
  }
  expect(scored.map(({ isGreedy }) => isGreedy)).toEqual([true, false]);
});

test("the last entry has a map when the generated token ends the text", async () => {
  const { context, continuation } = pairs[0] as (typeof pairs)[number];
  const [end] = await tokenize("<|im_end|>");
  const logit_bias = { [String(end)]: 100 };
  const answer = await complete({ ...scoring, prompt: context + continuation, logit_bias });
  const logprobs = logprobsOf(onlyChoice(answer));
  const { text_offset, top_logprobs } = logprobs;
  expect(Object.keys(top_logprobs.at(-1) ?? {}).length).toBeGreaterThanOrEqual(10);
  expect(text_offset.at(-1)).toBe(codePoints(context + continuation));
  expect(score(logprobs, context).logprob).toBeLessThan(0);
});

test("generation sends neither model nor max_tokens: 16 tokens at most", async () => {
  const { usage } = await complete({ ...body, prompt: "Once upon a time", stop: ["</s>"] });
  expect(usage?.completion_tokens).toBeLessThanOrEqual(16);
});

describe("other servers", () => {
  let server: ServerProcess;

  beforeAll(async () => {
    const file = tinyGgufFile({ variant: "bytes" });
    server = await startServer(["--threads", "1", "--model", file]);
  });

  afterAll(async () => {
    await server?.stop();
  });

  test("with the default limits its 10 logprobs are refused, and the message says what helps", async () => {
    const response = await post("/v1/completions", { ...scoring, prompt: "x" }, server);
    expect(response.status).toBe(400);
    const { error } = (await response.json()) as { error: { message: string; param: string } };
    expect(error.param).toBe("logprobs");
    expect(error.message).toContain("--limits extended");
  });

  test("a token put in front of the text has offset 0 and no length", async () => {
    const [context, continuation] = ["The river was", " high. 水 äöü"];
    const prompt = context + continuation;
    const answer = await complete({ ...scoring, logprobs: 5, prompt }, server.url);
    const { text_offset, tokens } = logprobsOf(onlyChoice(answer));
    expect(tokens[0]).toBe("<s>");
    expect(text_offset.slice(0, 2)).toEqual([0, 0]);
    const start = walk(logprobsOf(onlyChoice(answer)), context);
    expect(tokens.slice(1, start).join("")).toBe(context);
  });
});
