/** Generated text: it is what its tokens say, streamed or not, alone or beside other prompts. */
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ServerProcess } from "../support/server-process.ts";
import {
  complete,
  completeStreamed,
  type WireChoice,
  type WireLogprobs,
  type WireUsage,
} from "../support/wire.ts";
import { promptText, promptTokens, propertyOptions, requestFields } from "./texts.ts";
import { startTiny, type TinyModel, tinyModels, vocabularySize } from "./tiny-servers.ts";
import { codePoints, decode, recountOffsets, tokenBytes } from "./token-bytes.ts";

describe.each(tinyModels)("on the $variant model", (model) => {
  let server: ServerProcess;
  let prompt: fc.Arbitrary<string | number[]>;
  beforeAll(async () => {
    server = await startTiny(model);
    prompt = fc.oneof(promptText, promptTokens(await vocabularySize(server.url)));
  });
  afterAll(() => server?.stop());

  test("tokens and offsets agree with the text", async () => {
    const property = fc.asyncProperty(prompt, requestFields, async (prompt, fields) => {
      const scored = { max_tokens: 0, echo: true, logprobs: 0, prompt };
      const { choices: echoes, usage } = await complete(server.url, scored);
      const promptText = echoes[0]?.text ?? "";
      const request = { ...fields, prompt, logprobs: fields.logprobs ?? 1 };
      for (const choice of (await complete(server.url, request)).choices) {
        const skip = fields.echo === true ? usage.prompt_tokens : 0;
        const front = fields.echo === true ? promptText : "";
        expect(choice.text.startsWith(front)).toBe(true);
        const own = { ...choice, text: choice.text.slice(front.length) };
        expectGenerated(model, own, skip, codePoints(promptText), fields);
      }
    });
    await fc.assert(property, propertyOptions);
  });

  test("a stream says the same as one answer", async () => {
    const property = fc.asyncProperty(prompt, requestFields, async (prompt, fields) => {
      const request = { ...fields, prompt };
      const whole = await complete(server.url, request);
      const streamed = await completeStreamed(server.url, request);
      expect(streamed.choices).toEqual(whole.choices);
      expect(counts(streamed.usage)).toEqual(counts(whole.usage));
    });
    await fc.assert(property, propertyOptions);
  });

  test("prompts sent together get what each gets alone", async () => {
    const several = fc.array(promptText, { minLength: 2, maxLength: 4 });
    const property = fc.asyncProperty(several, requestFields, async (prompts, fields) => {
      const together = await complete(server.url, { ...fields, prompt: prompts });
      const alone = await Promise.all(
        prompts.map((prompt) => complete(server.url, { ...fields, prompt })),
      );
      const expected = alone.flatMap(({ choices }) => choices);
      expect(together.choices).toEqual(expected.map((choice, index) => ({ ...choice, index })));
      const total = alone.reduce((sum, { usage }) => sum + usage.total_tokens, 0);
      expect(together.usage.total_tokens).toBe(total);
    });
    await fc.assert(property, propertyOptions);
  });
});

/** Cached tokens may differ from one time to the next. */
const counts = ({ prompt_tokens: prompt, completion_tokens: completion }: WireUsage) => ({
  prompt,
  completion,
});

/** `skip` entries belong to the prompt; `base` code points stand in front of the text. */
function expectGenerated(
  model: TinyModel,
  choice: WireChoice,
  skip: number,
  base: number,
  fields: Readonly<Record<string, unknown>>,
): void {
  const logprobs = choice.logprobs as WireLogprobs;
  const tokens = logprobs.tokens.slice(skip);
  const offsets = logprobs.text_offset.slice(skip).map((offset) => offset - base);
  // With echo the end token has an entry of its own at the end of the text.
  const end = codePoints(choice.text);
  const endsWithEntry = fields.echo === true && isEndEntry(model, choice, tokens, offsets, fields);
  if (endsWithEntry) {
    tokens.pop();
    expect(offsets.pop()).toBe(end);
  }
  const hidden = (token: string) =>
    fields.skip_special_tokens !== false && model.specials.includes(token);
  const bytes = tokens.map((token) => (hidden(token) ? [] : tokenBytes(token)));
  const decoded = decode(bytes.flat());
  if (choice.finish_reason === "stop") expect(decoded.startsWith(choice.text)).toBe(true);
  else expect(choice.text).toBe(decoded);
  // A token stands in the list only if its text begins inside the text, or has no width.
  for (const offset of offsets) expect(offset).toBeLessThanOrEqual(end);
  expect(offsets).toEqual(recountOffsets(bytes));
}

function isEndEntry(
  model: TinyModel,
  choice: WireChoice,
  tokens: readonly string[],
  offsets: readonly number[],
  fields: Readonly<Record<string, unknown>>,
): boolean {
  const last = tokens.at(-1) ?? "";
  const atEnd = offsets.at(-1) === codePoints(choice.text);
  const maxTokens = Number(fields.max_tokens);
  return choice.finish_reason === "stop" && atEnd && maxTokens > 0 && model.specials.includes(last);
}
