/** Section 11: several choices, and the best of several candidates. */
import { expect } from "vitest";
import { firstWhere } from "../support/api.ts";
import { rulesOf } from "../support/rule.ts";
import { server, tinyServers } from "../support/servers.ts";
import { type Choice, logprobsOf, numbers, sum } from "../support/wire.ts";

const rule = rulesOf(import.meta.url);
const prompt = "The river was";
const request = { prompt, max_tokens: 8, seed: 6 };

const textsOf = ({ choices }: { choices: readonly Choice[] }): string[] =>
  choices.map(({ text }) => text);

rule("11.1", "`best_of` below `n` is refused with OpenAI's hint.", (prove) => {
  prove("the message names both values", async () => {
    const error = await (await server("plain")).refuse({ ...request, n: 2, best_of: 1 });
    expect(error).toMatchObject({
      status: 400,
      type: "invalid_request_error",
      message:
        "You requested that the server return more choices than it will generate (HINT: you must " +
        "set 'n' (currently 2) to be at most 'best_of' (currently 1), or omit either parameter if " +
        "you don't specifically want to use them.)",
    });
  });
});

rule(
  "11.2",
  "Without `best_of`, with null and with 0 there are as many candidates as choices.",
  (prove) => {
    prove("the same choices in all three cases, and with best_of equal to n", async () => {
      const api = await server("plain");
      const { choices, usage } = await api.complete({ ...request, n: 3 });
      for (const best_of of [null, 0, 3]) {
        const answer = await api.complete({ ...request, n: 3, best_of });
        expect(answer.choices).toEqual(choices);
        expect(answer.usage.completion_tokens).toBe(usage.completion_tokens);
      }
    });
  },
);

rule(
  "11.3",
  "`best_of` returns the candidates with the highest mean raw logprob, best first: the mean over the tokens of the text and the end token, without those of a matched stop string.",
  (prove) => {
    const candidates = 10;

    /** All candidates of the seed with their means, from an answer that returns all of them. */
    const means = (choices: readonly Choice[], promptEntries: number): number[] =>
      choices.map((choice) => {
        const values = numbers(logprobsOf(choice).token_logprobs.slice(promptEntries));
        return values.length === 0 ? Number.NEGATIVE_INFINITY : sum(values) / values.length;
      });

    for (const name of tinyServers) {
      for (const stop of [undefined, ["e", " t"]]) {
        const end = name === "bytes" ? 2 : 0;
        prove(
          `${name}, ${stop === undefined ? "ends" : "stop strings"}: as a ranking of all ${candidates} candidates finds`,
          async () => {
            const api = await server(name);
            // With echo an end token has an entry, so the entries are what the mean is over.
            const drawn = {
              prompt,
              max_tokens: 10,
              n: candidates,
              logprobs: 0,
              echo: true,
              stop,
              logit_bias: { [end]: 3 },
              temperature: 1.5,
            };
            const { request: found, answer } = await firstWhere(api, drawn, ({ choices }) => {
              const reasons = choices.map((choice) => choice.finish_reason);
              return reasons.includes("stop") && (stop !== undefined || reasons.includes("length"));
            });
            const entries = (await api.tokenize(prompt)).length;
            const mean = means(answer.choices, entries);
            const order = answer.choices
              .map((_, candidate) => candidate)
              .sort(
                (left, right) => (mean[right] as number) - (mean[left] as number) || left - right,
              );
            for (const n of [1, 3]) {
              const best = await api.complete({ ...found, n, best_of: candidates });
              const expected = order
                .slice(0, n)
                .map((candidate) => answer.choices[candidate]?.text);
              expect(textsOf(best)).toEqual(expected);
              expect(best.choices.map(({ index }) => index)).toEqual(
                expected.map((_, index) => index),
              );
            }
          },
        );
      }
    }
  },
);

rule(
  "11.4",
  "Candidates are ranked without `logprobs` as with them, and a candidate that ended at once by its end token.",
  (prove) => {
    prove("the same winners, with and without logprobs", async () => {
      const api = await server("plain");
      const ranked = { ...request, n: 2, best_of: 8, logit_bias: { 0: 4 } };
      const plain = textsOf(await api.complete(ranked));
      expect(textsOf(await api.complete({ ...ranked, logprobs: 2 }))).toEqual(plain);
    });
  },
);

rule("11.5", "At temperature 0 all candidates are the same text.", (prove) => {
  prove("n, and best_of above n", async () => {
    const api = await server("plain");
    const greedy = textsOf(await api.complete({ ...request, temperature: 0 }));
    for (const more of [{ n: 4 }, { n: 2, best_of: 5 }]) {
      const texts = textsOf(await api.complete({ ...request, ...more, temperature: 0 }));
      expect(new Set(texts)).toEqual(new Set(greedy));
    }
  });
});

rule(
  "11.6",
  "A draw depends on the seed, the candidate's number within its prompt and the position, on nothing else.",
  (prove) => {
    prove("candidates differ, and repeat with the seed", async () => {
      const api = await server("plain");
      const several = { ...request, n: 6, logprobs: 2, ignore_eos: true };
      const first = await api.complete(several);
      expect(new Set(textsOf(first)).size).toBeGreaterThan(3);
      expect((await api.complete(several)).choices).toEqual(first.choices);
    });

    prove(
      "the first candidates do not change with their number, beyond what runs at once too",
      async () => {
        const api = await server("plain");
        const many = await api.complete({ ...request, n: 20, logprobs: 1 });
        for (const n of [1, 5, 9]) {
          const few = await api.complete({ ...request, n, logprobs: 1 });
          expect(few.choices).toEqual(many.choices.slice(0, n));
        }
      },
    );

    prove("a prompt's choices are the same alone and among other prompts", async () => {
      const api = await server("plain");
      const prompts = ["A small boat", prompt, "Once upon"];
      const batch = await api.complete({ ...request, prompt: prompts, n: 2, logprobs: 1 });
      for (const [place, each] of prompts.entries()) {
        const alone = await api.complete({ ...request, prompt: each, n: 2, logprobs: 1 });
        const own = batch.choices.slice(2 * place, 2 * place + 2);
        expect(own.map(({ index: _, ...choice }) => choice)).toEqual(
          alone.choices.map(({ index: _, ...choice }) => choice),
        );
      }
    });

    prove("the next seed's candidates are not this seed's", async () => {
      const api = await server("plain");
      const long = { ...request, max_tokens: 16, n: 6, ignore_eos: true };
      const texts = new Set<string>();
      for (const seed of [10, 11, 12]) {
        for (const text of textsOf(await api.complete({ ...long, seed }))) texts.add(text);
      }
      expect(texts.size).toBe(18);
    });
  },
);

rule("11.7", "Prompts times candidates of one request have a limit of 2048.", (prove) => {
  prove("one candidate above is refused", async () => {
    const api = await server("plain");
    const prompts = Array.from({ length: 103 }, () => "a");
    const error = await api.refuse({ ...request, prompt: prompts, best_of: 20 });
    expect(error).toMatchObject({ status: 400, param: "prompt" });
    expect(error.message).toContain("2048");
  });
});
