/** Sections 5 and 6: what is counted, and why a choice ended. */
import { expect } from "vitest";
import { firstWhere } from "../support/api.ts";
import { rulesOf } from "../support/rule.ts";
import { server, tinyServers } from "../support/servers.ts";
import { choiceOf, isNarrow, isPlain, logprobsOf, sum } from "../support/wire.ts";

const rule = rulesOf(import.meta.url);
const prompt = "The river was";
/** The end token of the byte-level vocabularies. */
const endToken = 0;

rule(
  "5.1",
  "`usage` has the three counts, then the details of cached prompt tokens and of reasoning tokens, of which there are none.",
  (prove) => {
    prove("as written", async () => {
      const { raw } = await (await server("plain")).complete({ prompt, max_tokens: 2 });
      expect(raw).toMatch(
        /"usage":\{"prompt_tokens":\d+,"completion_tokens":\d+,"total_tokens":\d+,"prompt_tokens_details":\{"cached_tokens":\d+\},"completion_tokens_details":\{"reasoning_tokens":0\}\}/,
      );
    });
  },
);

rule(
  "5.2",
  "A prompt counts once however many choices it gets; several prompts add up.",
  (prove) => {
    prove("n does not multiply the prompt, a second prompt adds to it", async () => {
      const api = await server("plain");
      const other = "A small boat";
      const [first, second] = [await api.tokenize(prompt), await api.tokenize(other)];
      const one = await api.complete({ prompt, n: 5, max_tokens: 1 });
      expect(one.usage.prompt_tokens).toBe(first.length);
      const two = await api.complete({ prompt: [prompt, other], n: 2, max_tokens: 1 });
      expect(two.usage.prompt_tokens).toBe(first.length + second.length);
    });
  },
);

rule(
  "5.3",
  "The end token is not counted: completion tokens are the tokens of the returned text.",
  (prove) => {
    for (const name of tinyServers) {
      const end = name === "bytes" ? 2 : endToken;
      prove(`${name}: as many as there are logprobs entries, for every choice`, async () => {
        const api = await server(name);
        const biased = { prompt, n: 4, max_tokens: 12, logprobs: 0, logit_bias: { [end]: 3 } };
        const { answer } = await firstWhere(api, biased, ({ choices }) => {
          const reasons = new Set(choices.map((choice) => choice.finish_reason));
          return reasons.size === 2;
        });
        const entries = answer.choices.map((choice) => logprobsOf(choice).tokens.length);
        expect(answer.usage.completion_tokens).toBe(sum(entries));
      });
    }
  },
);

rule("5.4", "Tokens of a matched stop string are not counted.", (prove) => {
  prove("a choice cut by a stop string counts the tokens that begin in its text", async () => {
    const api = await server("plain");
    const drawn = { prompt, max_tokens: 12, ignore_eos: true, logprobs: 0 };
    const { request, answer: whole } = await firstWhere(api, drawn, (found) =>
      isPlain(choiceOf(found)),
    );
    const { tokens } = logprobsOf(choiceOf(whole));
    const stop = tokens.slice(6, 8).join("");
    const text = tokens.join("");
    const cut = text.indexOf(stop);
    let before = 0;
    for (let length = 0; length < cut; before += 1) length += (tokens[before] as string).length;
    const answer = await api.complete({ ...request, stop });
    expect(choiceOf(answer).finish_reason).toBe("stop");
    expect(answer.usage.completion_tokens).toBe(before);
  });
});

rule("5.5", "Nothing generated is written as 0.", (prove) => {
  prove("an end at once, and max_tokens 0", async () => {
    const api = await server("plain");
    const ended = { prompt, max_tokens: 4, logit_bias: { [endToken]: 100 } };
    for (const request of [ended, { prompt, max_tokens: 0, echo: true }]) {
      const { usage } = await api.complete(request);
      expect(usage.completion_tokens).toBe(0);
      expect(usage.total_tokens).toBe(usage.prompt_tokens);
    }
  });
});

rule("5.6", "With `best_of` the tokens of all candidates count, returned or not.", (prove) => {
  prove("the best one of six costs what six choices cost", async () => {
    const api = await server("plain");
    const request = { prompt, max_tokens: 8, seed: 5 };
    const all = await api.complete({ ...request, n: 6 });
    const best = await api.complete({ ...request, best_of: 6 });
    expect(best.choices.length).toBe(1);
    expect(best.usage.completion_tokens).toBe(all.usage.completion_tokens);
    expect(best.usage.prompt_tokens).toBe(all.usage.prompt_tokens);
  });
});

rule("5.7", "`echo` changes no count.", (prove) => {
  prove("equal counts with and without", async () => {
    const api = await server("plain");
    const request = { prompt, max_tokens: 8, seed: 5 };
    const { usage } = await api.complete(request);
    const echoed = await api.complete({ ...request, echo: true });
    expect(echoed.usage.completion_tokens).toBe(usage.completion_tokens);
    expect(echoed.usage.prompt_tokens).toBe(usage.prompt_tokens);
  });
});

rule(
  "5.8",
  "`cached_tokens` says how many prompt tokens did not have to be read; the answer is the same.",
  (prove) => {
    prove(
      "some of a prompt that was just read, never more than the prompt, and the text does not depend on it",
      async () => {
        const api = await server("plain");
        const long =
          "The river was high, the bridge was closed, and the letter had said to wait. ".repeat(3);
        const request = { prompt: long, max_tokens: 6, seed: 1, logprobs: 2 };
        const first = await api.complete(request);
        const second = await api.complete(request);
        expect(second.choices).toEqual(first.choices);
        for (const { usage } of [first, second]) {
          const { cached_tokens } = usage.prompt_tokens_details;
          expect(cached_tokens).toBeGreaterThanOrEqual(0);
          expect(cached_tokens).toBeLessThanOrEqual(usage.prompt_tokens);
        }
        expect(second.usage.prompt_tokens_details.cached_tokens).toBeGreaterThan(0);
      },
    );
  },
);

rule(
  "6.1",
  "`stop` means an end token or a stop string, `length` that `max_tokens` was reached.",
  (prove) => {
    prove("each of the three", async () => {
      const api = await server("plain");
      const request = { prompt, max_tokens: 6, seed: 1 };
      const reason = async (more: object) =>
        choiceOf(await api.complete({ ...request, ...more })).finish_reason;
      expect(await reason({ logit_bias: { [endToken]: 100 } })).toBe("stop");
      expect(await reason({ ignore_eos: true })).toBe("length");
      const { request: found, answer } = await firstWhere(
        api,
        { ...request, ignore_eos: true },
        ({ choices }) => choices.every(({ text }) => text.length > 3 && isNarrow(text)),
      );
      expect(await reason({ ...found, stop: choiceOf(answer).text.slice(1, 3) })).toBe("stop");
    });
  },
);

rule("6.2", "Scoring a prompt (`echo`, `max_tokens` 0) ends with `length`.", (prove) => {
  prove("text is the prompt", async () => {
    const choice = choiceOf(
      await (await server("plain")).complete({ prompt, echo: true, max_tokens: 0 }),
    );
    expect(choice).toMatchObject({ text: prompt, finish_reason: "length" });
  });
});

rule("6.3", "An end at once is an empty text with `stop`.", (prove) => {
  prove("whole and streamed", async () => {
    const api = await server("plain");
    const request = { prompt, max_tokens: 6, logit_bias: { [endToken]: 100 } };
    expect(choiceOf(await api.complete(request))).toMatchObject({
      text: "",
      finish_reason: "stop",
    });
    const { chunks } = await api.stream(request);
    expect(chunks.length).toBe(1);
    expect(chunks[0]?.choices).toEqual([
      { text: "", index: 0, logprobs: null, finish_reason: "stop" },
    ]);
  });
});

rule(
  "6.4",
  "Where the last allowed token completes a stop string the reason is `stop`.",
  (prove) => {
    prove("stop string and max_tokens on one token", async () => {
      const api = await server("plain");
      const drawn = { prompt, max_tokens: 6, ignore_eos: true, logprobs: 0 };
      const stopOf = (tokens: readonly string[]) =>
        (tokens.at(-2)?.slice(-1) ?? "") + tokens.at(-1);
      const { request, answer: whole } = await firstWhere(api, drawn, (found) => {
        const { tokens } = logprobsOf(choiceOf(found));
        const text = tokens.join("");
        return (
          isPlain(choiceOf(found)) &&
          text.indexOf(stopOf(tokens)) === text.length - stopOf(tokens).length
        );
      });
      const { tokens } = logprobsOf(choiceOf(whole));
      const answer = choiceOf(await api.complete({ ...request, stop: stopOf(tokens) }));
      expect(answer.finish_reason).toBe("stop");
      expect(answer.text).toBe(tokens.join("").slice(0, -stopOf(tokens).length));
    });
  },
);
