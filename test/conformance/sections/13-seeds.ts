/** Section 13, continued: what a seed promises, and special tokens that are drawn. */
import { expect } from "vitest";
import { rulesOf } from "../support/rule.ts";
import { server, tinyServers } from "../support/servers.ts";
import { choiceOf, logprobsOf, numbers } from "../support/wire.ts";

const rule = rulesOf(import.meta.url);
const prompt = "The river was";

rule(
  "13.9",
  "The same request with the same seed gives the same text and logprobs, whatever else the server does.",
  (prove) => {
    for (const name of tinyServers) {
      prove(`${name}: again, beside other requests, and after them`, async () => {
        const api = await server(name);
        const request = { prompt, max_tokens: 16, seed: 77, logprobs: 3, echo: true };
        const { choices } = await api.complete(request);
        const beside = await Promise.all(
          [1, 2, 3, 4, 5, 6, 7, 8, 9].map((seed) =>
            seed === 5
              ? api.complete(request)
              : api.complete({ ...request, prompt: `${prompt} ${seed} `.repeat(seed), seed, n: 2 }),
          ),
        );
        expect(beside[4]?.choices).toEqual(choices);
        expect((await api.complete(request)).choices).toEqual(choices);
      });
    }

    prove("the default model, beside other requests", async () => {
      const api = await server("standard");
      const request = { prompt: "Once upon a time", max_tokens: 8, seed: 7, logprobs: 2 };
      const { choices } = await api.complete(request);
      const [again] = await Promise.all([
        api.complete(request),
        api.complete({ ...request, prompt: "A list of colours:", seed: 1 }),
        api.complete({ ...request, prompt: "def total(values):", seed: 2 }),
      ]);
      expect(again?.choices).toEqual(choices);
    });
  },
);

rule("13.10", "Without a seed every request draws afresh.", (prove) => {
  prove("several answers to one request differ", async () => {
    const api = await server("plain");
    const texts = new Set<string>();
    for (let round = 0; round < 4; round += 1) {
      texts.add(choiceOf(await api.complete({ prompt, max_tokens: 24, ignore_eos: true })).text);
    }
    expect(texts.size).toBeGreaterThan(1);
  });
});

rule(
  "13.11",
  "A special token that is drawn in between has a logprobs entry and counts, and adds no text and no width; with `skip_special_tokens: false` it is shown.",
  (prove) => {
    const request = { prompt, max_tokens: 3, logprobs: 0, ignore_eos: true };

    prove("an end token that is ignored, and another special token", async () => {
      const api = await server("plain");
      for (const [id, text] of [
        [0, "<|endoftext|>"],
        [1, "<|im_start|>"],
      ] as const) {
        const forced = { ...request, logit_bias: { [id]: 100 } };
        const hidden = await api.complete(forced);
        const { tokens, text_offset, token_logprobs } = logprobsOf(choiceOf(hidden));
        expect(choiceOf(hidden)).toMatchObject({ text: "", finish_reason: "length" });
        expect(tokens).toEqual([text, text, text]);
        expect(text_offset).toEqual([prompt.length, prompt.length, prompt.length]);
        expect(numbers(token_logprobs).length).toBe(3);
        expect(hidden.usage.completion_tokens).toBe(3);
        const shown = await api.complete({ ...forced, skip_special_tokens: false });
        expect(choiceOf(shown).text).toBe(text.repeat(3));
        expect(shown.usage.completion_tokens).toBe(3);
      }
    });
  },
);
