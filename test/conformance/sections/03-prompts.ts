/** Section 3: the forms of a prompt, and in which order its choices come. */
import { expect } from "vitest";
import type { Api } from "../support/api.ts";
import { rulesOf } from "../support/rule.ts";
import { server, tinyServers } from "../support/servers.ts";
import { choiceOf, logprobsOf } from "../support/wire.ts";

const rule = rulesOf(import.meta.url);
const text = "The river was high";
const settings = { max_tokens: 5, seed: 4, logprobs: 1 };

rule(
  "3.1",
  "A prompt is a text, a list of texts, a list of token ids or a list of such lists; the same prompt in any form gives the same answer.",
  (prove) => {
    for (const name of tinyServers) {
      prove(`${name}: four forms, one answer`, async () => {
        const api = await server(name);
        const ids = await api.tokenize(text);
        const expected = await api.complete({ ...settings, prompt: text });
        for (const prompt of [[text], ids, [ids]]) {
          const { choices, usage } = await api.complete({ ...settings, prompt });
          expect(choiceOf({ choices }).text).toBe(choiceOf(expected).text);
          expect(choiceOf({ choices }).logprobs?.token_logprobs).toEqual(
            choiceOf(expected).logprobs?.token_logprobs,
          );
          expect(usage.prompt_tokens).toBe(expected.usage.prompt_tokens);
        }
      });
    }
  },
);

rule(
  "3.2",
  "No prompt, null, an empty text and `<|endoftext|>` all mean the start of a document: the model's `<|endoftext|>` token, else its BOS, else its EOS.",
  (prove) => {
    async function starts(api: Api, token: string): Promise<void> {
      const request = { ...settings, echo: true };
      const expected = await api.complete({ ...request, prompt: "" });
      expect(logprobsOf(choiceOf(expected)).tokens[0]).toBe(token);
      expect(logprobsOf(choiceOf(expected)).text_offset.slice(0, 2)).toEqual([0, 0]);
      expect(expected.usage.prompt_tokens).toBe(1);
      const generated = choiceOf(expected).text;
      for (const prompt of [{}, { prompt: null }, { prompt: [""] }]) {
        expect(choiceOf(await api.complete({ ...request, ...prompt })).text).toBe(generated);
      }
      const spelled = await api.complete({ ...request, prompt: "<|endoftext|>" });
      expect(choiceOf(spelled).text).toBe(`<|endoftext|>${generated}`);
      expect(spelled.usage.prompt_tokens).toBe(1);
      const [id] = await api.tokenize(token, false);
      const byId = await api.complete({ ...request, prompt: [id] });
      expect(choiceOf(byId).text).toBe(token + generated);
    }

    prove("a vocabulary with <|endoftext|>", async () =>
      starts(await server("plain"), "<|endoftext|>"),
    );
    prove("a vocabulary with a BOS and no such token", async () =>
      starts(await server("bytes"), "<s>"),
    );
    prove("the default model, whose BOS would open a chat turn", async () =>
      starts(await server("standard"), "<|endoftext|>"),
    );
  },
);

rule("3.3", "Empty lists are refused.", (prove) => {
  prove("[] and [[]]", async () => {
    const api = await server("plain");
    for (const prompt of [[], [[]], [[5], []]]) {
      const error = await api.refuse({ ...settings, prompt });
      expect(error).toMatchObject({ status: 400, code: "empty_array" });
      expect(error.param).toMatch(/^prompt/);
    }
  });
});

rule("3.4", "Lists that mix forms, and prompts of any other type, are refused.", (prove) => {
  prove("texts among ids, ids among texts, lists among ids, numbers, objects", async () => {
    const api = await server("plain");
    for (const prompt of [
      ["a", 5],
      [5, "a"],
      [5, [6]],
      [[5], 6],
      [1.5],
      5,
      true,
      { text: "a" },
      ["a", null],
    ]) {
      expect((await api.refuse({ ...settings, prompt })).status).toBe(400);
    }
  });
});

rule("3.5", "A token id outside of the vocabulary is refused with the range of ids.", (prove) => {
  prove("the message names the id and the largest one", async () => {
    const api = await server("plain");
    const { vocab_size } = JSON.parse((await api.send("/tokenizer_info")).text);
    const { id: _, ...error } = {
      id: 0,
      ...(await api.refuse({ ...settings, prompt: [5, vocab_size] })),
    };
    expect(error).toEqual({
      status: 400,
      message: `Invalid token in prompt: ${vocab_size}. Minimum value is 0, maximum value is ${vocab_size - 1} (inclusive).`,
      type: "invalid_request_error",
      param: null,
      code: null,
    });
    await api.complete({ ...settings, prompt: [vocab_size - 1] });
    expect((await api.refuse({ ...settings, prompt: [[5], [-1]] })).message).toMatch(
      /^Invalid token in prompt: -1\./,
    );
  });
});

rule("3.6", "Names of special tokens inside a text prompt become those tokens.", (prove) => {
  prove("infill markers written into a prompt are single tokens", async () => {
    const api = await server("fim");
    const prompt = "<fim_prefix>The river<fim_suffix> high<fim_middle>";
    const { tokens } = logprobsOf(
      choiceOf(await api.complete({ ...settings, prompt, echo: true })),
    );
    expect(tokens.filter((token) => token.startsWith("<fim"))).toEqual([
      "<fim_prefix>",
      "<fim_suffix>",
      "<fim_middle>",
    ]);
  });
});

rule(
  "3.7",
  "Where the model file asks for a BOS it stands in front of text prompts: it counts, it is the first echoed entry, and it adds nothing to the text or the offsets; a BOS that the text spells out is not doubled.",
  (prove) => {
    const request = { ...settings, echo: true };

    prove("one more token than the text has, and offset 0 twice", async () => {
      const api = await server("bytes");
      const bare = await api.tokenize(text, false);
      const answer = await api.complete({ ...request, prompt: text });
      const { tokens, text_offset } = logprobsOf(choiceOf(answer));
      expect(answer.usage.prompt_tokens).toBe(bare.length + 1);
      expect(tokens[0]).toBe("<s>");
      expect(tokens.slice(1, bare.length + 1).join("")).toBe(text);
      expect([...text_offset].slice(0, 3)).toEqual([0, 0, 3]);
      expect(choiceOf(answer).text.startsWith(text)).toBe(true);
    });

    prove("a text that begins with the BOS has it once", async () => {
      const api = await server("bytes");
      const answer = await api.complete({ ...request, prompt: `<s>${text}` });
      const { tokens } = logprobsOf(choiceOf(answer));
      expect(tokens.filter((token) => token === "<s>")).toEqual(["<s>"]);
      expect(choiceOf(answer).text.startsWith(`<s>${text}`)).toBe(true);
    });

    prove("nothing stands in front where the file does not ask for it", async () => {
      const api = await server("plain");
      const { tokens } = logprobsOf(choiceOf(await api.complete({ ...request, prompt: text })));
      expect(tokens[0]).toBe("The");
    });
  },
);

rule(
  "3.8",
  "Choice j of prompt i has the index `i * n + j`, and `choices` are sorted by index.",
  (prove) => {
    prove("three prompts with two choices each, whole and streamed", async () => {
      const api = await server("plain");
      const prompts = ["The river", "A boat", "Once"];
      const request = { ...settings, prompt: prompts, n: 2, echo: true };
      const { choices } = await api.complete(request);
      expect(choices.map(({ index }) => index)).toEqual([0, 1, 2, 3, 4, 5]);
      const owner = (index: number) => prompts[Math.floor(index / 2)] as string;
      for (const choice of choices) expect(choice.text.startsWith(owner(choice.index))).toBe(true);
      const { chunks } = await api.stream(request);
      const seen = new Set<number>();
      for (const { index, text: shown } of chunks.flatMap((chunk) => chunk.choices)) {
        if (!seen.has(index)) expect(shown).toBe(owner(index));
        seen.add(index);
      }
      expect(seen.size).toBe(6);
    });
  },
);

rule("3.9", "A batch of prompts is one answer with one id.", (prove) => {
  prove("one id, and another one for the next request", async () => {
    const api = await server("plain");
    const request = { ...settings, prompt: ["a", "b"] };
    const { chunks } = await api.stream(request);
    expect(new Set(chunks.map(({ id }) => id)).size).toBe(1);
    expect((await api.complete(request)).id).not.toBe(chunks[0]?.id);
  });
});
