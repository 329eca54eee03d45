/** Section 7: the values and the maps of `logprobs`. */
import { expect } from "vitest";
import { firstWhere } from "../support/api.ts";
import { rawDistribution, tokenTexts } from "../support/distribution.ts";
import { rulesOf } from "../support/rule.ts";
import { samples } from "../support/samples.ts";
import { server, tinyServers } from "../support/servers.ts";
import {
  choiceOf,
  codePoints,
  logprobsOf,
  rawTokenLogprobs,
  rawTopLogprobs,
  sum,
} from "../support/wire.ts";

const rule = rulesOf(import.meta.url);
const prompt = "The river was";

rule(
  "7.1",
  "The object has the arrays `tokens`, `token_logprobs`, `top_logprobs` and `text_offset`, in this order and of one length.",
  (prove) => {
    prove("as written", async () => {
      const { raw } = await (await server("plain")).complete({
        prompt,
        max_tokens: 4,
        logprobs: 1,
        ignore_eos: true,
      });
      expect(raw).toMatch(
        /"logprobs":\{"tokens":\[.*\],"token_logprobs":\[.*\],"top_logprobs":\[\{.*\}\],"text_offset":\[.*\]\}/,
      );
      const { tokens, token_logprobs, top_logprobs, text_offset } = logprobsOf(
        choiceOf(JSON.parse(raw)),
      );
      for (const list of [token_logprobs, top_logprobs, text_offset])
        expect(list.length).toBe(tokens.length);
    });
  },
);

rule(
  "7.2",
  "Logprobs are those of the model's raw distribution: temperature, top_p, bias, penalties and the extensions do not show in them.",
  (prove) => {
    prove(
      "whatever is set, the first position has the same alternatives, to the digit",
      async () => {
        const api = await server("plain");
        const request = { prompt, max_tokens: 1, seed: 1, logprobs: 5, ignore_eos: true };
        const top = async (more: object) => {
          const choice = choiceOf(await api.complete({ ...request, ...more }));
          const entries = Object.entries(logprobsOf(choice).top_logprobs[0] ?? {});
          return new Map(entries.sort(([, left], [, right]) => right - left).slice(0, 5));
        };
        const expected = await top({});
        const [likeliest] = await api.tokenize([...expected.keys()][0] as string, false);
        for (const more of [
          { temperature: 0 },
          { temperature: 2 },
          { top_p: 0.1 },
          { top_k: 1 },
          { min_p: 0.9 },
          { logit_bias: { [likeliest as number]: -100 } },
          { logit_bias: { [likeliest as number]: 7.5 } },
          { repetition_penalty: 5 },
          { frequency_penalty: 2, presence_penalty: 2 },
        ]) {
          expect(await top(more), JSON.stringify(more)).toEqual(expected);
        }
      },
    );

    prove(
      "after tokens that were penalised the distribution is that of their context",
      async () => {
        const api = await server("plain");
        const request = { prompt, max_tokens: 6, logprobs: 0, temperature: 0, ignore_eos: true };
        const drawn = await api.complete({ ...request, frequency_penalty: 2, presence_penalty: 1 });
        const { tokens, token_logprobs } = logprobsOf(choiceOf(drawn));
        const texts = await tokenTexts(api);
        const ids = tokens.map((token) => texts.indexOf(token));
        const context = [...(await api.tokenize(prompt)), ...ids.slice(0, 5)];
        const distribution = await rawDistribution(api, context);
        expect(token_logprobs[5]).toBeCloseTo(distribution[ids[5] as number] as number, 3);
      },
    );
  },
);

rule(
  "7.3",
  "They are natural logarithms of a distribution over the whole vocabulary: its probabilities add up to one.",
  (prove) => {
    for (const name of ["plain", "bytes"] as const) {
      prove(`${name}: the sum over every token of the vocabulary`, async () => {
        const api = await server(name);
        const distribution = await rawDistribution(api, await api.tokenize(prompt));
        expect(sum(distribution.map(Math.exp))).toBeCloseTo(1, 3);
      });
    }
  },
);

rule(
  "7.4",
  "They are single precision numbers, written with the fewest digits that read back as the same number.",
  (prove) => {
    prove(
      "every number reads back as itself in single precision, and one digit less does not",
      async () => {
        for (const { name, whole } of await samples()) {
          const top = rawTopLogprobs(whole.raw).flatMap((entries) => entries ?? []);
          const written = [...rawTokenLogprobs(whole.raw), ...top.map(({ digits }) => digits)];
          for (const text of written.filter((digits) => digits !== "null")) {
            const value = Number(text);
            expect(Number(shortest(Math.fround(value))), name).toBe(value);
            expect(text, name).toBe(JSON.stringify(value));
          }
        }
      },
    );

    /** The shortest decimal that reads back as this single precision number. */
    function shortest(value: number): string {
      for (let digits = 1; digits < 9; digits += 1) {
        const text = value.toPrecision(digits);
        if (Math.fround(Number(text)) === value) return text;
      }
      return value.toPrecision(9);
    }
  },
);

rule(
  "7.5",
  "An entry of `top_logprobs` has the N likeliest tokens and always the token itself: N or N + 1 of them, the token first and the others by falling probability.",
  (prove) => {
    prove("count and order of every entry", async () => {
      for (const { name, body, whole } of await samples()) {
        const wanted = body.logprobs as number | undefined;
        if (wanted === undefined || name.startsWith("bytes")) continue;
        for (const entries of rawTopLogprobs(whole.raw)) {
          if (entries === null) continue;
          const values = entries.map(({ digits }) => Number(digits));
          const [own = 0, ...others] = values;
          expect(others, name).toEqual(others.toSorted((left, right) => right - left));
          // Where the token is one of the N likeliest there are N entries, else N + 1.
          const isLikely = wanted > 0 && own >= (others[wanted - 1] ?? Number.NEGATIVE_INFINITY);
          expect(entries.length, name).toBe(
            isLikely || wanted === 0 ? Math.max(wanted, 1) : wanted + 1,
          );
        }
      }
    });

    prove("the N likeliest of the whole vocabulary are the ones listed", async () => {
      const api = await server("plain");
      const request = { prompt, max_tokens: 1, temperature: 0, ignore_eos: true, logprobs: 5 };
      const listed = Object.values(
        logprobsOf(choiceOf(await api.complete(request))).top_logprobs[0] ?? {},
      );
      const distribution = await rawDistribution(api, await api.tokenize(prompt));
      const likeliest = distribution.toSorted((left, right) => right - left).slice(0, 5);
      expect(listed.length).toBe(5);
      for (const [place, value] of listed.entries())
        expect(value).toBeCloseTo(likeliest[place] as number, 3);
    });
  },
);

rule("7.6", "`logprobs: 0` gives the token alone, as a map with one entry.", (prove) => {
  prove("one entry everywhere", async () => {
    const api = await server("plain");
    const { top_logprobs, tokens } = logprobsOf(
      choiceOf(await api.complete({ prompt, max_tokens: 6, logprobs: 0 })),
    );
    expect(top_logprobs.map((entry) => Object.keys(entry ?? {}))).toEqual(
      tokens.map((token) => [token]),
    );
  });
});

rule(
  "7.7",
  "Two ids that are written the same share one key: the larger value stays, but a token's own value always wins its key.",
  (prove) => {
    prove("a byte token and a piece of one text, each as the token itself", async () => {
      const pieces = await server("bytes");
      const texts = await tokenTexts(pieces);
      const idsOf = (text: string) => texts.flatMap((each, id) => (each === text ? [id] : []));
      // A place where one of two such ids is likely, after tokens of one id each.
      const request = { prompt, max_tokens: 10, n: 8, logprobs: 5, ignore_eos: true };
      let found: { text: string; before: string[] } | undefined;
      await firstWhere(pieces, request, ({ choices }) => {
        for (const { tokens, top_logprobs } of choices.map(logprobsOf)) {
          for (const [place, top] of top_logprobs.entries()) {
            const before = tokens.slice(0, place);
            if (before.some((token) => idsOf(token).length > 1)) break;
            const text = Object.keys(top ?? {}).find((key) => idsOf(key).length > 1);
            if (text !== undefined) found = { text, before };
          }
        }
        return found !== undefined;
      });
      const { text, before } = found as { text: string; before: string[] };
      const sharing = idsOf(text);
      const context = [...(await pieces.tokenize(prompt)), ...before.flatMap(idsOf)];
      const distribution = await rawDistribution(pieces, context);
      for (const token of sharing) {
        const request = { prompt: [...context, token], max_tokens: 0, echo: true, logprobs: 5 };
        const logprobs = logprobsOf(choiceOf(await pieces.complete(request)));
        expect(logprobs.tokens.at(-1)).toBe(text);
        expect(logprobs.top_logprobs.at(-1)?.[text]).toBe(logprobs.token_logprobs.at(-1));
        expect(logprobs.token_logprobs.at(-1)).toBeCloseTo(distribution[token] as number, 3);
      }
    });
  },
);

rule(
  "7.8",
  "Without echo offsets go on from the end of the prompt, for every choice and every prompt of a batch anew; token ids count as the text they decode to.",
  (prove) => {
    for (const name of tinyServers) {
      prove(`${name}: the first offset is the prompt's length in code points`, async () => {
        const api = await server(name);
        const prompts = [prompt, "中文 😀", "é"];
        const request = { n: 2, max_tokens: 3, logprobs: 0, seed: 2, ignore_eos: true };
        const { choices } = await api.complete({ ...request, prompt: prompts });
        for (const choice of choices) {
          const own = prompts[Math.floor(choice.index / 2)] as string;
          expect(logprobsOf(choice).text_offset[0]).toBe(codePoints(own));
        }
        const ids = await api.tokenize("river 中文 😀", false);
        const detokenized = await api.send("/detokenize", { body: { tokens: ids } });
        const text = (JSON.parse(detokenized.text) as { prompt: string }).prompt;
        const byIds = await api.complete({ ...request, n: 1, prompt: ids });
        expect(logprobsOf(choiceOf(byIds)).text_offset[0]).toBe(codePoints(text));
      });
    }
  },
);
