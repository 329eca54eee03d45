import { describe, expect, test } from "vitest";
import { tinyGgufFile } from "../../src/llama/testing/tiny-gguf.ts";
import { runReference } from "./programs.ts";
import { chunkSizes } from "./reference-logprobs.ts";

const text = "The old man walked to the river and looked at the boat for some time.";

describe("chunks", () => {
  test("cover the prompt and leave no row alone", () => {
    for (let length = 2; length < 40; length++) {
      for (let chunkRows = 3; chunkRows < 12; chunkRows++) {
        const sizes = chunkSizes(length, chunkRows);
        expect(sizes.reduce((sum, rows) => sum + rows, 0)).toBe(length);
        expect(Math.min(...sizes)).toBeGreaterThan(1);
        expect(Math.max(...sizes)).toBeLessThanOrEqual(chunkRows);
      }
    }
  });

  test("are taken as they are from a list, which has to fit", () => {
    expect(chunkSizes(5, [1, 4])).toEqual([1, 4]);
    expect(() => chunkSizes(5, [1, 3])).toThrow(RangeError);
    expect(() => chunkSizes(5, 0)).toThrow(RangeError);
  });
});

describe("an answer", () => {
  test("has the probability of every token at every position, in order", async () => {
    const model = tinyGgufFile();
    const { vocabularySize, prompts } = await runReference({ model, prompts: [text], top: 10_000 });
    const prompt = prompts[0];
    expect(prompt?.logprobs).toHaveLength(prompt?.tokens.length ?? -1);
    expect(prompt?.logprobs[0]).toBeNull();
    prompt?.top.slice(1).forEach((ranked, index) => {
      const all = ranked ?? [];
      const sum = all.reduce((total, [, logprob]) => total + Math.exp(logprob), 0);
      expect(all).toHaveLength(vocabularySize);
      expect(sum).toBeCloseTo(1, 12);
      expect(all.map(([, logprob]) => logprob)).toEqual(
        all.map(([, logprob]) => logprob).toSorted((left, right) => right - left),
      );
      const own = all.find(([token]) => token === prompt.tokens[index + 1]);
      expect(prompt.logprobs[index + 1]).toBe(own?.[1]);
    });
  });

  test("depends neither on the size of the chunks nor on the prompts before", async () => {
    const model = tinyGgufFile({ tensorType: "q8_0" });
    const whole = await runReference({ model, prompts: [text] });
    const parts = await runReference({ model, prompts: ["She said", text], chunkRows: 3 });
    expect(parts.prompts[1]).toEqual(whole.prompts[0]);
  });

  test("goes on greedily when asked", async () => {
    const model = tinyGgufFile();
    const plain = (await runReference({ model, prompts: [text] })).prompts[0];
    const longer = (await runReference({ model, prompts: [text], generate: 3 })).prompts[0];
    expect(longer?.tokens.slice(0, -3)).toEqual(plain?.tokens);
    expect(longer?.tokens.at(-3)).toBe(plain?.next[0]?.[0]);
    expect(longer?.logprobs.at(-3)).toBe(plain?.next[0]?.[1]);
  });

  test("is one line about what went wrong where there is none", async () => {
    const model = "/no/such/file.gguf";
    await expect(runReference({ model, prompts: [[1]] })).rejects.toThrow(/could not load/);
    await expect(runReference({ model: tinyGgufFile(), prompts: [[]] })).rejects.toThrow(
      /no token/,
    );
  });
});
