/** Research scorers: HELM, LMQL, and the many that look for `len(context)` in the offsets. */
import { describe, expect, test } from "vitest";
import {
  codePoints,
  complete,
  logprobsOf,
  modelName,
  onlyChoice,
  streamText,
  sum,
  tokenize,
  type WireAnswer,
} from "./support/requests.ts";
import { pairs } from "./support/scoring.ts";

/** The bytes of a token as it is written: `bytes:` and escapes, or its text. */
function bytesOf(token: string): Buffer {
  if (!token.startsWith("bytes:")) return Buffer.from(token);
  const parts = token.slice("bytes:".length).match(/\\x[0-9a-f]{2}|\\\\|[^\\]/g) ?? [];
  return Buffer.concat(
    parts.map((part) =>
      part.startsWith("\\x")
        ? Buffer.from([Number.parseInt(part.slice(2), 16)])
        : Buffer.from(part === "\\\\" ? "\\" : part),
    ),
  );
}

const joined = (tokens: readonly string[]): string => Buffer.concat(tokens.map(bytesOf)).toString();

describe("scorers that send logprobs 0, max_tokens 0, echo", () => {
  const body = { model: modelName, max_tokens: 0, logprobs: 0, echo: true };

  test("text_offset.index(len(context)) exists, and the tokens from there are the continuation", async () => {
    const prompt = pairs.map(({ context, continuation }) => context + continuation);
    const { choices, usage } = await complete({ ...body, prompt });
    for (const [index, { context, continuation }] of pairs.entries()) {
      const { tokens, token_logprobs, text_offset } = logprobsOf(choices[index]);
      const start = text_offset.indexOf(codePoints(context));
      expect(start).toBeGreaterThan(0);
      expect(joined(tokens.slice(start))).toBe(continuation);
      expect(sum(token_logprobs.slice(start) as number[])).toBeLessThan(0);
      expect(choices[index]).toMatchObject({ text: prompt[index], finish_reason: "length" });
    }
    expect(usage?.completion_tokens).toBe(0);
  });

  test("the first of the greatest offsets is where the text ended", async () => {
    const [end] = await tokenize("<|im_end|>");
    const logit_bias = { [String(end)]: 100 };
    const prompt = "The bridge was closed";
    const answer = await complete({ ...body, prompt, max_tokens: 8, logit_bias });
    const { text, logprobs } = onlyChoice(answer);
    const offsets = logprobs?.text_offset ?? [];
    const last = offsets.indexOf(Math.max(...offsets));
    expect(logprobs?.tokens.slice(0, last).join("")).toBe(text);
    expect(text).toBe(prompt);
  });
});

describe("HELM", () => {
  const fields = { top_p: 1, presence_penalty: 0, frequency_penalty: 0, stop: null };

  test("completions: best_of = logprobs = n, sums of all values, tokens that make the text", async () => {
    const body = { model: modelName, prompt: "The weather was", temperature: 0.7, max_tokens: 5 };
    const { choices } = await complete({ ...body, ...fields, n: 3, best_of: 3, logprobs: 3 });
    expect(choices).toHaveLength(3);
    const means = choices.map((choice) => {
      const { tokens, token_logprobs, top_logprobs } = logprobsOf(choice);
      expect(joined(tokens)).toBe(choice.text);
      expect(top_logprobs).toHaveLength(tokens.length);
      for (const top of top_logprobs) {
        expect([3, 4]).toContain(Object.keys(top ?? {}).length);
      }
      return sum(token_logprobs.map((value) => value ?? 0));
    });
    for (const mean of means) expect(mean).toBeLessThan(0);
  });

  test("scoring: max_tokens 0 with best_of 5 gives the prompt's tokens and nothing else", async () => {
    const prompt = "Grüße 😀, 水 and \\ a backslash";
    const scoring = { echo: true, max_tokens: 0, temperature: 0, n: 1, best_of: 5, logprobs: 5 };
    const answer = await complete({ model: modelName, prompt, ...fields, ...scoring });
    const { text, finish_reason, logprobs } = onlyChoice(answer);
    expect(text).toBe(prompt);
    expect(finish_reason).toBe("length");
    expect(logprobs?.tokens).toHaveLength((await tokenize(prompt)).length);
    expect(logprobs?.tokens.some((token) => token.startsWith("bytes:"))).toBe(true);
    expect(joined(logprobs?.tokens ?? [])).toBe(prompt);
    expect(sum((logprobs?.token_logprobs ?? []).map((value) => value ?? 0))).toBeLessThan(0);
  });
});

describe("LMQL", () => {
  /** It cuts the stream at a line end, `data:` and a space. */
  function lmqlChunks(text: string): WireAnswer[] {
    const pieces = `\n${text}`
      .split("\ndata: ")
      .slice(1)
      .map((piece) => piece.trim());
    expect(pieces.pop()).toBe("[DONE]");
    return pieces.map((piece) => JSON.parse(piece) as WireAnswer);
  }

  const prompt = ["Grüße 😀 und", "One, two, three,"];
  const body = { model: modelName, prompt, echo: true, logprobs: 1, temperature: 0, max_tokens: 4 };

  test("every chunk has logprobs; prompt tokens come first and offsets go on without a gap", async () => {
    const chunks = lmqlChunks(await streamText(body));
    const streams = prompt.map((_, index) =>
      chunks.flatMap(({ choices }) => choices).filter((choice) => choice.index === index),
    );
    for (const [index, choices] of streams.entries()) {
      for (const { logprobs } of choices) expect(logprobs).not.toBeNull();
      const tokens = choices.flatMap((choice) => logprobsOf(choice).tokens);
      const offsets = choices.flatMap((choice) => logprobsOf(choice).text_offset);
      expect(logprobsOf(choices[0]).top_logprobs[0]).toBeNull();
      expect(choices[0]?.text.startsWith(prompt[index] as string)).toBe(true);
      // The offset of a token is the number of characters that are complete before it.
      for (const [position, offset] of offsets.entries()) {
        const before = Buffer.concat(tokens.slice(0, position).map(bytesOf));
        const complete = before.toString().replace(/\ufffd+$/, "");
        expect(offset).toBe(codePoints(complete));
      }
      expect(joined(tokens)).toBe(choices.map(({ text }) => text).join(""));
    }
  });

  test("the stream is the answer that is not streamed", async () => {
    const whole = await complete(body);
    const chunks = lmqlChunks(await streamText(body));
    for (const { index, text, logprobs } of whole.choices) {
      const parts = chunks.flatMap(({ choices }) => choices).filter((part) => part.index === index);
      expect(parts.map((part) => part.text).join("")).toBe(text);
      expect(parts.flatMap((part) => logprobsOf(part).token_logprobs)).toEqual(
        logprobs?.token_logprobs,
      );
    }
  });

  test("a bias on 300 tokens allows these and no others", async () => {
    const ids = Array.from({ length: 300 }, (_, index) => 1000 + index);
    const logit_bias = Object.fromEntries(ids.map((id) => [String(id), 100]));
    const chunks = lmqlChunks(await streamText({ ...body, logit_bias, echo: false }));
    const tokens = chunks.flatMap(({ choices }) => choices).flatMap((c) => logprobsOf(c).tokens);
    expect(tokens.length).toBeGreaterThan(0);
    for (const token of tokens) {
      const [id] = await tokenize(token);
      expect(ids).toContain(id);
    }
  });
});
