/** Section 9: the prompt in front of the text. */
import { expect } from "vitest";
import { rulesOf } from "../support/rule.ts";
import { server, tinyServers } from "../support/servers.ts";
import { choiceOf, logprobsOf } from "../support/wire.ts";

const rule = rulesOf(import.meta.url);
const prompt = "The river\nwas high";
const request = { prompt, max_tokens: 6, seed: 2 };

rule(
  "9.1",
  "`echo` puts the prompt in front of every choice's text, unchanged; token ids come back as the text they decode to.",
  (prove) => {
    for (const name of tinyServers) {
      prove(`${name}: text, ids and several choices`, async () => {
        const api = await server(name);
        const plain = await api.complete({ ...request, n: 3 });
        const echoed = await api.complete({ ...request, n: 3, echo: true });
        const texts = plain.choices.map(({ text }) => prompt + text);
        expect(echoed.choices.map(({ text }) => text)).toEqual(texts);
        const tokens = await api.tokenize(prompt, false);
        const decoded = await api.send("/detokenize", { body: { tokens } });
        const { prompt: text } = JSON.parse(decoded.text) as { prompt: string };
        const byIds = await api.complete({ ...request, prompt: tokens, max_tokens: 0, echo: true });
        expect(choiceOf(byIds).text).toBe(text);
      });
    }
  },
);

rule(
  "9.2",
  "`echo` with `max_tokens` 0 scores the prompt: its text, its logprobs, nothing counted as completion.",
  (prove) => {
    prove("text, entries and usage", async () => {
      const api = await server("plain");
      const answer = await api.complete({ ...request, max_tokens: 0, echo: true, logprobs: 1 });
      const { tokens, token_logprobs } = logprobsOf(choiceOf(answer));
      expect(choiceOf(answer)).toMatchObject({ text: prompt, finish_reason: "length" });
      expect(tokens.join("")).toBe(prompt);
      expect(token_logprobs.slice(1).every((value) => value !== null && value <= 0)).toBe(true);
      expect(answer.usage).toMatchObject({ prompt_tokens: tokens.length, completion_tokens: 0 });
    });
  },
);

rule(
  "9.3",
  "Stop strings are looked for in the generated text alone: an echoed prompt may hold them.",
  (prove) => {
    prove(
      "a stop string in the prompt, and one that prompt and text would make together",
      async () => {
        const api = await server("plain");
        const whole = choiceOf(await api.complete({ ...request, ignore_eos: true }));
        const across = prompt.slice(-1) + whole.text.slice(0, 1);
        const stop = ["river", "h", across].filter((text) => !whole.text.includes(text));
        expect(stop.length).toBeGreaterThan(0);
        const echoed = choiceOf(
          await api.complete({ ...request, ignore_eos: true, echo: true, stop }),
        );
        expect(echoed.text).toBe(prompt + whole.text);
        expect(echoed.finish_reason).toBe("length");
      },
    );
  },
);

rule(
  "9.4",
  "With `suffix`, `echo` gives prompt and completion; asking for logprobs too is refused, because the context that is read is not the prompt.",
  (prove) => {
    prove("on a model with infill markers", async () => {
      const api = await server("fim");
      const inserted = choiceOf(await api.complete({ ...request, suffix: " today" }));
      const echoed = choiceOf(await api.complete({ ...request, suffix: " today", echo: true }));
      expect(echoed.text).toBe(prompt + inserted.text);
      const error = await api.refuse({ ...request, suffix: " today", echo: true, logprobs: 1 });
      expect(error).toMatchObject({ status: 400, param: "suffix", code: "unsupported_parameter" });
    });
  },
);

rule("9.5", "`echo` goes with `best_of`: every returned choice carries the prompt.", (prove) => {
  prove("the best two of four", async () => {
    const api = await server("plain");
    const best = await api.complete({ ...request, n: 2, best_of: 4 });
    const echoed = await api.complete({ ...request, n: 2, best_of: 4, echo: true });
    expect(echoed.choices.map(({ text }) => text)).toEqual(
      best.choices.map(({ text }) => prompt + text),
    );
  });
});
