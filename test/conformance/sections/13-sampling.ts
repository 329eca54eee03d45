/** Section 13: how the next token is chosen from the raw distribution. */
import { expect } from "vitest";
import { tokenTexts } from "../support/distribution.ts";
import { expectDraws } from "../support/draws.ts";
import { rulesOf } from "../support/rule.ts";
import { server } from "../support/servers.ts";
import { choiceOf, logprobsOf, sum } from "../support/wire.ts";

const rule = rulesOf(import.meta.url);
const prompt = "The river was";

const tempered = (logprobs: readonly number[], temperature: number): number[] =>
  logprobs.map((logprob) => Math.exp(logprob / temperature));

/** The weights of the likeliest tokens that together have this share, 0 for all others. */
function nucleus(weights: readonly number[], share: number): number[] {
  const order = weights.map((_, token) => token);
  order.sort((left, right) => (weights[right] as number) - (weights[left] as number));
  const kept = weights.map(() => 0);
  const limit = share * sum(weights);
  let mass = 0;
  for (const token of order) {
    if (mass >= limit) break;
    kept[token] = weights[token] as number;
    mass += weights[token] as number;
  }
  return kept;
}

rule("13.1", "Temperature 0 and `top_p` 0 always take the likeliest token.", (prove) => {
  prove(
    "each token of a greedy text is the first of its alternatives, whatever the seed",
    async () => {
      const api = await server("plain");
      const request = { prompt, max_tokens: 12, logprobs: 5, ignore_eos: true };
      const greedy = choiceOf(await api.complete({ ...request, temperature: 0 }));
      const { token_logprobs, top_logprobs } = logprobsOf(greedy);
      for (const [place, top] of top_logprobs.entries()) {
        expect(Math.max(...Object.values(top ?? {}))).toBe(token_logprobs[place]);
      }
      for (const more of [
        { temperature: 0, seed: 5 },
        { temperature: 2, top_p: 0 },
        { temperature: 1, top_p: 0, seed: 9 },
      ]) {
        expect(choiceOf(await api.complete({ ...request, ...more }))).toEqual(greedy);
      }
    },
  );
});

rule("13.2", "Draws follow the raw distribution at the given temperature.", (prove) => {
  for (const temperature of [0.5, 1, 2]) {
    prove(`a thousand draws at temperature ${temperature}`, async () => {
      await expectDraws(await server("plain"), { prompt, temperature }, (logprobs) =>
        tempered(logprobs, temperature),
      );
    });
  }
});

rule(
  "13.3",
  "`top_p` keeps the likeliest tokens that together have this share at the given temperature.",
  (prove) => {
    prove("a thousand draws with top_p 0.6 at temperature 1.5", async () => {
      await expectDraws(
        await server("plain"),
        { prompt, temperature: 1.5, top_p: 0.6 },
        (logprobs) => nucleus(tempered(logprobs, 1.5), 0.6),
      );
    });
  },
);

rule("13.4", "A bias is added to a token's logit before all else.", (prove) => {
  prove("a thousand draws with one token raised and one lowered, at temperature 0.7", async () => {
    const api = await server("plain");
    const bias = { 300: 4.5, 310: -3, 320: 2.25 } as const;
    await expectDraws(api, { prompt, temperature: 0.7, logit_bias: bias }, (logprobs) =>
      tempered(
        logprobs.map((logprob, token) => logprob + (bias[token as keyof typeof bias] ?? 0)),
        0.7,
      ),
    );
  });
});

rule(
  "13.5",
  "A bias of -100 bans a token and one of 100 leaves nothing else, at temperature 0 too; where everything is banned the least banned is drawn.",
  (prove) => {
    const request = { prompt, max_tokens: 5, logprobs: 0, ignore_eos: true };

    prove("the likeliest token banned, an unlikely one forced", async () => {
      const api = await server("plain");
      const texts = await tokenTexts(api);
      for (const temperature of [0, 1, 2]) {
        const [first] = logprobsOf(
          choiceOf(await api.complete({ ...request, temperature, seed: 1 })),
        ).tokens;
        const banned = {
          ...request,
          temperature,
          seed: 1,
          logit_bias: { [texts.indexOf(first as string)]: -100 },
        };
        expect(logprobsOf(choiceOf(await api.complete(banned))).tokens).not.toContain(first);
        const forced = { ...request, temperature, seed: 1, logit_bias: { 400: 100 } };
        const { tokens } = logprobsOf(choiceOf(await api.complete(forced)));
        expect(tokens).toEqual(Array.from({ length: 5 }, () => texts[400]));
      }
    });

    prove("every token banned, one of them less", async () => {
      const api = await server("plain");
      const texts = await tokenTexts(api);
      const all = Object.fromEntries(texts.map((_, token) => [token, token === 350 ? -60 : -100]));
      const { tokens } = logprobsOf(
        choiceOf(await api.complete({ ...request, max_tokens: 2, logit_bias: all })),
      );
      expect(tokens).toEqual([texts[350], texts[350]]);
    });
  },
);

rule(
  "13.6",
  "In `logit_bias` the ids 50256 and 100257 mean the model's end tokens where they lie beyond its vocabulary.",
  (prove) => {
    prove("banned the text goes on, forced it ends at once", async () => {
      for (const name of ["plain", "bytes", "standard"] as const) {
        const api = await server(name);
        for (const id of [50256, 100257]) {
          const forced = await api.complete({ prompt, max_tokens: 3, logit_bias: { [id]: 100 } });
          expect(choiceOf(forced), name).toMatchObject({ text: "", finish_reason: "stop" });
        }
      }
      const api = await server("plain");
      const request = { prompt, max_tokens: 40, n: 16, seed: 1, temperature: 1.5 };
      const free = await api.complete(request);
      expect(free.choices.some((choice) => choice.finish_reason === "stop")).toBe(true);
      const banned = await api.complete({ ...request, logit_bias: { 50256: -100 } });
      expect(banned.choices.every((choice) => choice.finish_reason === "length")).toBe(true);
    });
  },
);

rule(
  "13.7",
  "The penalties take `count * frequency_penalty` and, once for a token that was generated, `presence_penalty` from its logit.",
  (prove) => {
    for (const [frequency, presence] of [
      [0.4, 0],
      [0, 1.2],
      [0.3, 0.8],
      [2, 2],
    ] as const) {
      prove(
        `frequency ${frequency}, presence ${presence}: the choice of every position recomputed from raw logprobs`,
        async () => {
          const api = await server("wide");
          const answer = await api.complete({
            ...{ prompt, max_tokens: 24, temperature: 0, logprobs: 20, ignore_eos: true },
            ...{ frequency_penalty: frequency, presence_penalty: presence },
          });
          const { tokens, top_logprobs } = logprobsOf(choiceOf(answer));
          const counts = new Map<string, number>();
          for (const [place, token] of tokens.entries()) {
            const raw = Object.entries(top_logprobs[place] ?? {});
            const adjusted = raw.map(([text, logprob]) => {
              const count = counts.get(text) ?? 0;
              return { text, value: logprob - count * frequency - (count > 0 ? presence : 0) };
            });
            const best = adjusted.reduce((left, right) =>
              right.value > left.value ? right : left,
            );
            // What is not listed is at most as likely as the last listed, and was only lowered.
            const listed = raw.map(([, logprob]) => logprob).sort((left, right) => right - left);
            expect(best.value).toBeGreaterThanOrEqual(listed[19] as number);
            expect(token, `position ${place}`).toBe(best.text);
            counts.set(token, (counts.get(token) ?? 0) + 1);
          }
          expect(Math.max(...counts.values())).toBeGreaterThanOrEqual(presence === 2 ? 1 : 2);
        },
      );
    }
  },
);

rule(
  "13.8",
  "The two penalties count generated tokens only; a prompt does not matter to them.",
  (prove) => {
    prove("a prompt that holds the likeliest token changes nothing", async () => {
      const api = await server("plain");
      const request = { prompt, max_tokens: 1, temperature: 0, ignore_eos: true, logprobs: 5 };
      const texts = await tokenTexts(api);
      const [likeliest] = logprobsOf(choiceOf(await api.complete(request))).tokens;
      const ids = await api.tokenize(prompt);
      const context = [...ids, texts.indexOf(likeliest as string), ...ids];
      const free = choiceOf(await api.complete({ ...request, prompt: context }));
      const penalised = await api.complete({
        ...request,
        prompt: context,
        frequency_penalty: 2,
        presence_penalty: 2,
      });
      expect(choiceOf(penalised)).toEqual(free);
      // The tokens of the prompt are drawn as often as ever.
      const repeated = Array.from({ length: 4 }, () => ids).flat();
      const draw = { prompt: repeated, max_tokens: 1, n: 64, seed: 3, ignore_eos: true };
      const { choices } = await api.complete(draw);
      expect((await api.complete({ ...draw, presence_penalty: 2 })).choices).toEqual(choices);
    });
  },
);
