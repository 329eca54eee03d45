/** Echoed prompts: text, tokens and offsets agree with each other, for every text and token array. */
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ServerProcess } from "../support/server-process.ts";
import { complete, type WireLogprobs } from "../support/wire.ts";
import { promptText, promptTokens, propertyOptions } from "./texts.ts";
import { startTiny, type TinyModel, tinyModels, vocabularySize } from "./tiny-servers.ts";
import { decode, recountOffsets, tokenBytes } from "./token-bytes.ts";

const scoring = { echo: true, max_tokens: 0, logprobs: 0 };
const promptsEach = 8;

describe.each(tinyModels)("on the $variant model", (model) => {
  let server: ServerProcess;
  beforeAll(async () => {
    server = await startTiny(model);
  });
  afterAll(() => server?.stop());

  async function echoed(prompts: readonly unknown[]) {
    const { choices } = await complete(server.url, { ...scoring, prompt: prompts });
    return choices.map(({ text, logprobs }) => ({ text, logprobs: logprobs as WireLogprobs }));
  }

  test("texts come back as they were, made well-formed, and so do their tokens", async () => {
    const batch = fc.array(promptText, { minLength: promptsEach, maxLength: promptsEach });
    const property = fc.asyncProperty(batch, async (prompts) => {
      const answers = await echoed(prompts);
      for (const [place, { text, logprobs }] of answers.entries()) {
        const prompt = (prompts[place] as string).toWellFormed();
        expect(text).toBe(prompt);
        expectTokens(model, prompt, logprobs);
      }
    });
    await fc.assert(property, propertyOptions);
  });

  test("token arrays are used verbatim; halves of characters join", async () => {
    const size = await vocabularySize(server.url);
    const batch = fc.array(promptTokens(size), { minLength: promptsEach, maxLength: promptsEach });
    const property = fc.asyncProperty(batch, async (prompts) => {
      const answers = await echoed(prompts);
      for (const [place, { text, logprobs }] of answers.entries()) {
        const bytes = logprobs.tokens.map(tokenBytes);
        expect(logprobs.tokens).toHaveLength(prompts[place]?.length ?? 0);
        expect(text).toBe(decode(bytes.flat()));
        expect(logprobs.text_offset).toEqual(recountOffsets(bytes));
      }
    });
    await fc.assert(property, propertyOptions);
  });
});

function expectTokens(model: TinyModel, prompt: string, logprobs: WireLogprobs): void {
  const { tokens, text_offset: offsets, token_logprobs: values } = logprobs;
  expect(values[0]).toBeNull();
  expect(values.slice(1).every((value) => value !== null && value <= 0)).toBe(true);
  const hasBos = model.bos !== undefined && !prompt.startsWith(model.bos);
  if (hasBos) expect([tokens[0], offsets[0]]).toEqual([model.bos, 0]);
  const own = tokens.slice(hasBos ? 1 : 0).map(tokenBytes);
  // Pieces write a space as U+2581 and cannot tell the two apart.
  const plain = (text: string) => (model.bos === undefined ? text : text.replaceAll("\u2581", " "));
  expect(decode(own.flat())).toBe(plain(prompt));
  if (plain(prompt) === prompt) expect(offsets.slice(hasBos ? 1 : 0)).toEqual(recountOffsets(own));
}
