/**
 * Logprobs of prompt tokens against the native library's raw logits, read and normalised in float64
 * by a program of its own. Both evaluate with the same settings, so only rounding is left.
 */
import { homedir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ServerProcess } from "../support/server-process.ts";
import type { WireLogprobs } from "../support/wire.ts";
import { runReference } from "./programs.ts";
import type { Ranked, ReferencePrompt } from "./reference-logprobs.ts";
import { score, startSubject, tokenTexts, truthPrompts } from "./truth-server.ts";

/** Of the float64 value rounded to float32, which is what an answer can print. */
const relativeDifferenceMax = 1e-6;
const top = 5;

let server: ServerProcess;

beforeAll(async () => {
  server = await startSubject();
});

afterAll(() => server?.stop());

/** Where the server keeps the default model. */
function defaultModelFile(): string {
  const cache = process.env.COMPLETIONIST_CACHE || join(homedir(), ".cache", "completionist");
  return join(cache, "models", "SmolLM2-135M-Instruct.Q8_0.gguf");
}

test("echoed logprobs and the five likeliest tokens are those of the raw logits", async () => {
  const texts = truthPrompts.map(({ text }) => text);
  const answers: WireLogprobs[] = [];
  for (const text of texts) answers.push(await score(server.url, text, top));
  const reference = await runReference({ model: defaultModelFile(), prompts: texts, top });
  const names = await tokenTexts(server.url, mentioned(reference.prompts));
  let largest = 0;
  let tokens = 0;
  for (const [place, expected] of reference.prompts.entries()) {
    const answer = answers[place] as WireLogprobs;
    expect(answer.tokens).toEqual(expected.tokens.map((id) => names.get(id)));
    expect(answer.token_logprobs[0]).toBeNull();
    expect(answer.top_logprobs[0]).toBeNull();
    for (const [index, logprob] of expected.logprobs.entries()) {
      if (logprob === null) continue;
      tokens += 1;
      largest = Math.max(largest, relative(answer.token_logprobs[index], logprob));
      const listed = Object.entries(answer.top_logprobs[index] ?? {});
      const own = answer.tokens[index];
      const ranked = expected.top[index] ?? [];
      const wanted = new Map(ranked.map(([id, value]: Ranked) => [names.get(id), value]));
      // The token itself is listed, too, where it is not among the five.
      const others = listed.filter(([name]) => name !== own || wanted.has(name));
      expect(new Set(others.map(([name]) => name))).toEqual(new Set(wanted.keys()));
      for (const [name, value] of others) {
        largest = Math.max(largest, relative(value, wanted.get(name) ?? Number.NaN));
      }
    }
  }
  console.log(
    `reference: ${tokens} tokens of ${texts.length} prompts, largest relative difference ` +
      `${largest.toExponential(2)}`,
  );
  expect(largest).toBeLessThanOrEqual(relativeDifferenceMax);
});

/** Not a number where a side is missing, which no bound admits. */
function relative(value: number | null | undefined, expected: number): number {
  const rounded = Math.fround(expected);
  return Math.abs((value ?? Number.NaN) - rounded) / Math.abs(rounded);
}

function mentioned(prompts: readonly ReferencePrompt[]): ReadonlySet<number> {
  const ids = new Set<number>();
  for (const { tokens, top } of prompts) {
    for (const id of tokens) ids.add(id);
    for (const ranked of top) for (const [id] of ranked ?? []) ids.add(id);
  }
  return ids;
}
