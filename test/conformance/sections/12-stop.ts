/** Section 12: stop strings. */
import { expect } from "vitest";
import { type Api, firstWhere } from "../support/api.ts";
import { rulesOf } from "../support/rule.ts";
import { server } from "../support/servers.ts";
import { choiceOf, isPlain, logprobsOf } from "../support/wire.ts";

const rule = rulesOf(import.meta.url);
const prompt = "The river was";

/** A text of some length without hidden tokens, and the request that gives it. */
async function sample(api: Api) {
  const drawn = { prompt, max_tokens: 12, logprobs: 0, ignore_eos: true };
  const { request, answer } = await firstWhere(api, drawn, (found) => {
    const { text } = choiceOf(found);
    const { tokens } = logprobsOf(choiceOf(found));
    const hasLongToken = tokens.slice(2).some((token) => token.length > 2);
    const repeatsJoint = text.includes(prompt.slice(-2) + text.slice(0, 2));
    return isPlain(choiceOf(found)) && text.length > 20 && hasLongToken && !repeatsJoint;
  });
  const { text } = choiceOf(answer);
  return { request, text, tokens: logprobsOf(choiceOf(answer)).tokens };
}

rule(
  "12.1",
  "The text ends before the earliest match of any stop string; among matches at one place the longest counts.",
  (prove) => {
    prove(
      "every pair of pieces of a text stops where a search of the whole text stops",
      async () => {
        const api = await server("plain");
        const { request, text } = await sample(api);
        const pieces = [
          text.slice(4, 7),
          text.slice(5, 6),
          text.slice(9, 14),
          text.slice(9, 10),
          text.slice(-2),
        ];
        for (const left of pieces) {
          for (const right of pieces) {
            const at = Math.min(text.indexOf(left), text.indexOf(right));
            const choice = choiceOf(await api.complete({ ...request, stop: [left, right] }));
            expect(choice.text, `${left}, ${right}`).toBe(text.slice(0, at));
            expect(choice.finish_reason).toBe("stop");
          }
        }
      },
    );

    prove(
      "the longest of two that begin at one place is the one that is kept on demand",
      async () => {
        const api = await server("plain");
        const { request, text } = await sample(api);
        const stop = [text.slice(6, 8), text.slice(6, 11)];
        const at = text.indexOf(stop[0] as string);
        if (at !== text.indexOf(stop[1] as string)) return;
        const choice = choiceOf(
          await api.complete({ ...request, stop, include_stop_str_in_output: true }),
        );
        expect(choice.text).toBe(text.slice(0, at + 5));
      },
    );
  },
);

rule(
  "12.2",
  "Stop strings are looked for in the text, not in tokens: a match may begin and end inside tokens.",
  (prove) => {
    prove("from the middle of one token to the middle of another", async () => {
      const api = await server("plain");
      const { request, text, tokens } = await sample(api);
      const place = tokens.findIndex((token, index) => index > 1 && token.length > 2);
      expect(place).toBeGreaterThan(0);
      const start = tokens.slice(0, place).join("").length + 1;
      const stop = text.slice(start, start + (tokens[place]?.length ?? 0));
      const choice = choiceOf(await api.complete({ ...request, stop }));
      expect(choice.text).toBe(text.slice(0, text.indexOf(stop)));
    });

    prove("with letters of several bytes", async () => {
      const api = await server("plain");
      const bias = Object.fromEntries((await api.tokenize("éü", false)).map((id) => [id, 100]));
      const drawn = { prompt, max_tokens: 12, logit_bias: bias, temperature: 2 };
      const { request, answer } = await firstWhere(api, drawn, (found) =>
        /^.+éü/.test(choiceOf(found).text),
      );
      const { text } = choiceOf(answer);
      expect(choiceOf(await api.complete({ ...request, stop: "éü" })).text).toBe(
        text.slice(0, text.indexOf("éü")),
      );
    });
  },
);

rule("12.3", "A match never reaches from the prompt into the text.", (prove) => {
  prove("the end of the prompt with the beginning of the text", async () => {
    const api = await server("plain");
    const { request, text } = await sample(api);
    const stop = prompt.slice(-2) + text.slice(0, 2);
    expect(text).not.toContain(stop);
    for (const echo of [false, true]) {
      const choice = choiceOf(await api.complete({ ...request, stop, echo }));
      expect(choice).toMatchObject({ text: echo ? prompt + text : text, finish_reason: "length" });
    }
  });
});

rule(
  "12.4",
  "A stop string that is the name of a special token stops at that token, which is no part of the text.",
  (prove) => {
    prove("<|im_start|> as a token, hidden and shown", async () => {
      const api = await server("plain");
      const name = "<|im_start|>";
      const [token] = await api.tokenize(name, false);
      const forced = { prompt, max_tokens: 5, logit_bias: { [token as number]: 100 } };
      expect(choiceOf(await api.complete(forced)).finish_reason).toBe("length");
      for (const skip_special_tokens of [true, false]) {
        const stopped = await api.complete({ ...forced, stop: [name], skip_special_tokens });
        expect(choiceOf(stopped)).toMatchObject({ text: "", finish_reason: "stop" });
        expect(stopped.usage.completion_tokens).toBe(0);
      }
    });

    prove("the name of the end token, which ended the text anyway", async () => {
      const api = await server("standard");
      const request = { prompt: "Hello", max_tokens: 2, temperature: 0 };
      const { choices } = await api.complete(request);
      const answer = await api.complete({ ...request, stop: ["<|endoftext|>", "<|im_end|>"] });
      expect(answer.choices).toEqual(choices);
    });
  },
);

rule("12.5", "Every choice stops by itself.", (prove) => {
  prove("some choices stop, the others go on as if nothing had been", async () => {
    const api = await server("plain");
    const request = { prompt, max_tokens: 10, n: 8, seed: 4, ignore_eos: true };
    const whole = await api.complete(request);
    const stop = "e";
    const answer = await api.complete({ ...request, stop });
    for (const [index, { text }] of whole.choices.entries()) {
      const [before = ""] = text.split(stop);
      expect(choiceOf(answer, index).text).toBe(before);
      expect(choiceOf(answer, index).finish_reason).toBe(text.includes(stop) ? "stop" : "length");
    }
  });
});
