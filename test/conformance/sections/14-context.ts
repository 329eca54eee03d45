/** Section 14: prompt and completion must fit the context. */
import { expect } from "vitest";
import { type Api, errorOf } from "../support/api.ts";
import { rulesOf } from "../support/rule.ts";
import { server } from "../support/servers.ts";

const rule = rulesOf(import.meta.url);

async function contextOf(api: Api): Promise<number> {
  const { text } = await api.send("/v1/models");
  return (JSON.parse(text) as { data: { max_model_len: number }[] }).data[0]?.max_model_len ?? 0;
}

const ids = (length: number): number[] => Array.from({ length }, () => 300);

rule(
  "14.1",
  "Prompt tokens and `max_tokens` together may fill the context and not exceed it; the refusal is OpenAI's sentence with its numbers.",
  (prove) => {
    prove("the last token fits, one more does not", async () => {
      const api = await server("plain");
      const context = await contextOf(api);
      const full = await api.complete({
        prompt: ids(context - 4),
        max_tokens: 4,
        ignore_eos: true,
      });
      expect(full.usage.total_tokens).toBe(context);
      const error = await api.refuse({ prompt: ids(context - 4), max_tokens: 5 });
      expect(error).toEqual({
        status: 400,
        message: `This model's maximum context length is ${context} tokens, however you requested ${context + 1} tokens (${context - 4} in your prompt; 5 for the completion). Please reduce your prompt; or completion length.`,
        type: "invalid_request_error",
        param: null,
        code: "context_length_exceeded",
      });
    });

    prove(
      "scoring may fill the whole context, and says 0 for the completion beyond it",
      async () => {
        const api = await server("plain");
        const context = await contextOf(api);
        const scored = await api.complete({
          prompt: ids(context),
          max_tokens: 0,
          echo: true,
          logprobs: 0,
        });
        expect(scored.choices[0]?.logprobs?.tokens.length).toBe(context);
        const error = await api.refuse({ prompt: ids(context + 1), max_tokens: 0, echo: true });
        expect(error.message).toContain(`(${context + 1} in your prompt; 0 for the completion)`);
      },
    );

    prove("text prompts, the default of 16 and insertions are counted too", async () => {
      const api = await server("fim");
      const context = await contextOf(api);
      const prompt = "river".repeat(context - 15);
      const length = (await api.tokenize(prompt)).length;
      expect((await api.refuse({ prompt })).message).toContain(
        `requested ${length + 16} tokens (${length} in your prompt; 16 for the completion)`,
      );
      const inserted = await api.refuse({ prompt: ids(context - 6), suffix: "a", max_tokens: 4 });
      expect(inserted.message).toContain(`(${context - 2} in your prompt; 4 for the completion)`);
    });
  },
);

rule("14.2", "One prompt that is too long fails the request, streamed or not.", (prove) => {
  prove("the second of two prompts", async () => {
    const api = await server("plain");
    const context = await contextOf(api);
    for (const stream of [false, true]) {
      const reply = await api.send("/v1/completions", {
        body: { prompt: [ids(3), ids(context)], max_tokens: 1, stream },
      });
      expect(reply.status).toBe(400);
      expect(errorOf(reply.text).code).toBe("context_length_exceeded");
    }
  });
});

rule("14.3", "`n` and `best_of` do not count.", (prove) => {
  prove("a full context with several choices", async () => {
    const api = await server("plain");
    const context = await contextOf(api);
    const request = { prompt: ids(context - 2), max_tokens: 2, ignore_eos: true };
    expect((await api.complete({ ...request, n: 3 })).choices.length).toBe(3);
    expect((await api.complete({ ...request, n: 2, best_of: 3 })).choices.length).toBe(2);
  });
});
