/** Section 16: unknown parameters, and parameters of other servers that are honoured. */
import { expect } from "vitest";
import { type Api, firstWhere } from "../support/api.ts";
import { tokenTexts } from "../support/distribution.ts";
import { expectDraws } from "../support/draws.ts";
import { rulesOf } from "../support/rule.ts";
import { modelName, server } from "../support/servers.ts";
import { choiceOf, foldChunks, isPlain, logprobsOf } from "../support/wire.ts";

const rule = rulesOf(import.meta.url);
const prompt = "The river was";

/** A text without hidden tokens, and the request that gives it. */
async function sample(api: Api) {
  const drawn = { prompt, max_tokens: 12, logprobs: 0, ignore_eos: true };
  const found = await firstWhere(api, drawn, ({ choices }) =>
    choices.every((choice) => isPlain(choice) && choice.text.length > 12),
  );
  const { text } = choiceOf(found.answer);
  return { request: found.request, text, tokens: logprobsOf(choiceOf(found.answer)).tokens };
}

rule(
  "16.1",
  "Unknown parameters are ignored and named in `x-ignored-params`; a strict server refuses them in OpenAI's words; null is never an error.",
  (prove) => {
    prove("lenient and strict, one and several", async () => {
      const body = { prompt, max_tokens: 1, model: modelName };
      const lenient = await (await server("plain")).complete({ ...body, mirostat: 2, dry: null });
      expect(lenient.headers.get("x-ignored-params")).toBe("mirostat");
      const strict = await server("strict");
      const refused = { status: 400, type: "invalid_request_error", param: null, code: null };
      expect(await strict.refuse({ ...body, mirostat: 2 })).toEqual({
        ...refused,
        message: "Unrecognized request argument supplied: mirostat",
      });
      expect(await strict.refuse({ ...body, mirostat: 2, dry: 1 })).toEqual({
        ...refused,
        message: "Unrecognized request arguments supplied: mirostat, dry",
      });
      expect((await strict.complete({ ...body, mirostat: null })).choices.length).toBe(1);
      await strict.complete({ ...body, top_k: 5, min_p: 0.1, ignore_eos: true });
    });
  },
);

const tempered = (logprobs: readonly number[], temperature: number): number[] =>
  logprobs.map((logprob) => Math.exp(logprob / temperature));

rule("16.2", "`top_k` keeps the k likeliest tokens; 0 and -1 keep all.", (prove) => {
  prove("a thousand draws from three tokens", async () => {
    await expectDraws(await server("plain"), { prompt, temperature: 1.5, top_k: 3 }, (logprobs) => {
      const third = logprobs.toSorted((left, right) => right - left)[2] as number;
      return tempered(logprobs, 1.5).map((weight, token) =>
        (logprobs[token] as number) < third ? 0 : weight,
      );
    });
  });

  prove("1 is greedy, 0 and -1 change nothing", async () => {
    const api = await server("plain");
    const request = { prompt, max_tokens: 10, seed: 4 };
    const { choices } = await api.complete({ ...request, temperature: 0 });
    expect((await api.complete({ ...request, temperature: 2, top_k: 1 })).choices).toEqual(choices);
    const free = await api.complete(request);
    for (const top_k of [0, -1])
      expect((await api.complete({ ...request, top_k })).choices).toEqual(free.choices);
  });
});

rule(
  "16.3",
  "`min_p` leaves out tokens that are less likely, at the given temperature, than this share of the likeliest.",
  (prove) => {
    prove("a thousand draws with min_p 0.2 at temperature 1.5", async () => {
      await expectDraws(
        await server("plain"),
        { prompt, temperature: 1.5, min_p: 0.2 },
        (logprobs) => {
          const weights = tempered(logprobs, 1.5);
          const limit = 0.2 * Math.max(...weights);
          return weights.map((weight) => (weight < limit ? 0 : weight));
        },
      );
    });
  },
);

rule(
  "16.4",
  "`repetition_penalty` makes tokens of the prompt and of the text less likely.",
  (prove) => {
    prove(
      "a greedy text under a strong penalty repeats neither itself nor the prompt",
      async () => {
        const api = await server("plain");
        const texts = await tokenTexts(api);
        const request = { max_tokens: 12, temperature: 0, logprobs: 0, ignore_eos: true };
        const [likeliest] = logprobsOf(choiceOf(await api.complete({ ...request, prompt }))).tokens;
        const ids = await api.tokenize(prompt);
        const repeated = [...ids, texts.indexOf(likeliest as string), ...ids];
        const answer = await api.complete({ ...request, prompt: repeated, repetition_penalty: 10 });
        const { tokens } = logprobsOf(choiceOf(answer));
        const before = new Set(repeated.map((id) => texts[id]));
        for (const token of tokens) {
          expect(before.has(token)).toBe(false);
          before.add(token);
        }
      },
    );
  },
);

rule("16.5", "With `ignore_eos` an end token ends nothing and counts like any other.", (prove) => {
  prove("as many tokens as allowed, every time", async () => {
    const api = await server("plain");
    const request = { prompt, max_tokens: 20, n: 12, seed: 2, logit_bias: { 0: 3 } };
    const ended = await api.complete(request);
    expect(ended.choices.some((choice) => choice.finish_reason === "stop")).toBe(true);
    const answer = await api.complete({ ...request, ignore_eos: true });
    expect(answer.choices.every((choice) => choice.finish_reason === "length")).toBe(true);
    expect(answer.usage.completion_tokens).toBe(240);
  });
});

rule("16.6", "Before `min_tokens` neither an end token nor a stop ends the text.", (prove) => {
  prove("an end token that would come at once comes after that many tokens", async () => {
    const api = await server("plain");
    const forced = { prompt, max_tokens: 10, seed: 1, logit_bias: { 0: 100 } };
    expect((await api.complete(forced)).usage.completion_tokens).toBe(0);
    const answer = await api.complete({ ...forced, min_tokens: 4 });
    expect(answer.usage.completion_tokens).toBe(4);
    expect(choiceOf(answer).finish_reason).toBe("stop");
    expect(await api.refuse({ ...forced, min_tokens: 11 })).toMatchObject({
      status: 400,
      param: "min_tokens",
    });
  });

  prove("a stop string in the first tokens does not count", async () => {
    const api = await server("plain");
    const { request, text, tokens } = await sample(api);
    const stop = tokens[1] as string;
    expect(choiceOf(await api.complete({ ...request, stop })).finish_reason).toBe("stop");
    const kept = tokens.slice(0, 4).join("").length;
    const choice = choiceOf(await api.complete({ ...request, stop, min_tokens: 4 }));
    const next = text.indexOf(stop, kept);
    expect(choice.text).toBe(next === -1 ? text : text.slice(0, next));
  });
});

rule(
  "16.7",
  "`stop_token_ids` end the text like an end token; ids beyond the vocabulary are refused.",
  (prove) => {
    prove("the text ends before the first of these tokens", async () => {
      const api = await server("plain");
      const texts = await tokenTexts(api);
      const { request, tokens } = await sample(api);
      const stopped = tokens[6] as string;
      const answer = await api.complete({ ...request, stop_token_ids: [texts.indexOf(stopped)] });
      expect(choiceOf(answer).text).toBe(tokens.slice(0, tokens.indexOf(stopped)).join(""));
      expect(choiceOf(answer).finish_reason).toBe("stop");
      expect(answer.usage.completion_tokens).toBe(tokens.indexOf(stopped));
      const error = await api.refuse({ ...request, stop_token_ids: [texts.length] });
      expect(error).toMatchObject({ status: 400, param: "stop_token_ids" });
    });
  },
);

rule(
  "16.8",
  "With `include_stop_str_in_output` the matched stop string stays at the end of the text.",
  (prove) => {
    prove("whole and streamed", async () => {
      const api = await server("plain");
      const { request, text } = await sample(api);
      const stop = text.slice(5, 9);
      const kept = { ...request, stop, include_stop_str_in_output: true };
      const answer = await api.complete(kept);
      expect(choiceOf(answer).text).toBe(text.slice(0, text.indexOf(stop) + stop.length));
      expect(choiceOf(answer).finish_reason).toBe("stop");
      expect(foldChunks((await api.stream(kept)).chunks)).toEqual(answer.choices);
    });
  },
);

rule("16.9", "With `continuous_usage_stats` every chunk carries the usage so far.", (prove) => {
  prove("counts grow to those of the whole answer", async () => {
    const api = await server("plain");
    const request = { prompt, max_tokens: 10, seed: 1, ignore_eos: true };
    const options = { include_usage: true, continuous_usage_stats: true };
    const { chunks } = await api.stream({ ...request, stream_options: options });
    const counts = chunks.map(({ usage }) => usage?.completion_tokens ?? -1);
    expect(counts).toEqual(counts.toSorted((left, right) => left - right));
    expect(counts[0]).toBeGreaterThan(0);
    expect(counts.at(-1)).toBe(10);
    for (const { usage } of chunks) {
      expect(usage?.total_tokens).toBe(
        (usage?.prompt_tokens ?? 0) + (usage?.completion_tokens ?? 0),
      );
    }
  });
});
