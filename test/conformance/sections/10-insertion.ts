/** Section 10: `suffix`, with infill markers and without. */
import { expect } from "vitest";
import { rulesOf } from "../support/rule.ts";
import { insertionTemplate, modelName, server } from "../support/servers.ts";
import { choiceOf, codePoints, foldChunks, logprobsOf } from "../support/wire.ts";

const rule = rulesOf(import.meta.url);
const prompt = "The river";
const suffix = " before the sun.";
const request = { prompt, suffix, max_tokens: 8, seed: 3, logprobs: 1 };

rule(
  "10.1",
  "On a model with infill markers the model reads marker, prompt, marker, suffix, marker; these are the prompt tokens that usage counts.",
  (prove) => {
    prove("the answer is the one to the same tokens put together by hand", async () => {
      const api = await server("fim");
      const [before, after] = [await api.tokenize(prompt), await api.tokenize(suffix, false)];
      const [open, between, close] = await api.tokenize(
        "<fim_prefix><fim_suffix><fim_middle>",
        false,
      );
      const ids = [open, ...before, between, ...after, close];
      const answer = await api.complete(request);
      const { suffix: _, ...plain } = request;
      const byHand = await api.complete({ ...plain, prompt: ids });
      expect(choiceOf(answer).text).toBe(choiceOf(byHand).text);
      expect(logprobsOf(choiceOf(answer)).token_logprobs).toEqual(
        logprobsOf(choiceOf(byHand)).token_logprobs,
      );
      expect(answer.usage.prompt_tokens).toBe(before.length + after.length + 3);
    });
  },
);

rule(
  "10.2",
  "The text is the insertion alone, and its offsets go on from the end of the prompt.",
  (prove) => {
    prove("first offset, whole and streamed", async () => {
      const api = await server("fim");
      const answer = await api.complete({ ...request, ignore_eos: true });
      expect(logprobsOf(choiceOf(answer)).text_offset[0]).toBe(codePoints(prompt));
      const { chunks } = await api.stream({ ...request, ignore_eos: true });
      expect(foldChunks(chunks)).toEqual(answer.choices);
    });
  },
);

rule("10.3", "Token ids can be the prompt of an insertion.", (prove) => {
  prove("ids and text give one answer", async () => {
    const api = await server("fim");
    const ids = await api.tokenize(prompt);
    const byIds = await api.complete({ ...request, prompt: ids });
    expect(byIds.choices).toEqual((await api.complete(request)).choices);
  });
});

rule("10.4", "An empty suffix is no suffix, on every model.", (prove) => {
  prove("the same answer as without, where insertion is switched off too", async () => {
    for (const name of ["fim", "plain", "strict"] as const) {
      const api = await server(name);
      const plain = { prompt, max_tokens: 4, seed: 1, model: modelName };
      const { choices } = await api.complete(plain);
      expect((await api.complete({ ...plain, suffix: "" })).choices).toEqual(choices);
    }
  });
});

rule("10.5", "Where insertion is switched off a suffix is refused.", (prove) => {
  prove("the error's four fields", async () => {
    const error = await (await server("strict")).refuse({ ...request, model: modelName });
    expect(error).toEqual({
      status: 400,
      message: "This model does not support the 'suffix' parameter.",
      type: "invalid_request_error",
      param: "suffix",
      code: "unsupported_parameter",
    });
  });
});

rule(
  "10.6",
  "Insertion works on the default model, which has no infill markers, through the plain request of OpenAI's examples.",
  (prove) => {
    prove("prompt, suffix, stop and the defaults spelled out", async () => {
      const api = await server("standard");
      const answer = await api.complete({
        model: "gpt-3.5-turbo-instruct",
        prompt: "This is a test.",
        suffix: "test.",
        max_tokens: 16,
        temperature: 1,
        top_p: 1,
        n: 1,
        stream: false,
        logprobs: null,
        stop: "\n",
        user: "user-1234",
      });
      const choice = choiceOf(answer);
      expect(answer.choices.length).toBe(1);
      expect(choice.text).not.toContain("\n");
      expect(["stop", "length"]).toContain(choice.finish_reason);
      // Four candidates of up to 16 tokens were drawn for the one choice.
      expect(answer.usage.completion_tokens).toBeLessThanOrEqual(64);
      expect(answer.usage.prompt_tokens).toBeGreaterThan(0);
    });
  },
);

rule(
  "10.10",
  "Where the model's insertion is a template, the model reads the template with prompt and suffix filled in.",
  (prove) => {
    prove("the answer is the one to the filled template as a prompt", async () => {
      const api = await server("wide");
      // Text that would be a placeholder itself is left alone.
      const texts = { prompt: "The {suffix}", suffix: " {prefix} $& sun" };
      const answer = await api.complete({ ...request, ...texts });
      const { suffix: _, ...plain } = request;
      const filled = insertionTemplate(texts.prompt, texts.suffix);
      const byHand = await api.complete({ ...plain, prompt: filled });
      expect(choiceOf(answer).text).toBe(choiceOf(byHand).text);
      expect(answer.usage.prompt_tokens).toBe(byHand.usage.prompt_tokens);
      expect(logprobsOf(choiceOf(answer)).token_logprobs).toEqual(
        logprobsOf(choiceOf(byHand)).token_logprobs,
      );
    });
  },
);
