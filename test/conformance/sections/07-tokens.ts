/** Section 7, continued: which tokens have entries, and how they are written. */
import { expect } from "vitest";
import { firstWhere } from "../support/api.ts";
import { tokenTexts } from "../support/distribution.ts";
import { rulesOf } from "../support/rule.ts";
import { samples } from "../support/samples.ts";
import { server } from "../support/servers.ts";
import { bytesOf } from "../support/token-bytes.ts";
import { choiceOf, codePoints, foldChunks, isPlain, logprobsOf } from "../support/wire.ts";

const rule = rulesOf(import.meta.url);
const prompt = "The river was";

rule(
  "7.9",
  "A token that is no whole text by itself is written as `bytes:` and its bytes: printable ASCII as it is, a backslash doubled, the rest as `\\xNN` in lower case.",
  (prove) => {
    prove("the bytes of an echoed prompt's tokens are the bytes of its text", async () => {
      for (const name of ["plain", "bytes"] as const) {
        const api = await server(name);
        const text = "x 적 \u{1f9d1}\u200d\u{1f680} ҂";
        const answer = await api.complete({ prompt: text, max_tokens: 0, echo: true, logprobs: 0 });
        const tokens = logprobsOf(choiceOf(answer)).tokens.slice(name === "bytes" ? 1 : 0);
        expect(tokens.some((token) => token.startsWith("bytes:"))).toBe(true);
        expect(Buffer.concat(tokens.map(bytesOf)).toString()).toBe(text);
      }
    });

    prove(
      "over a whole vocabulary: `bytes:` exactly where the bytes are no UTF-8, all of one form",
      async () => {
        const texts = await tokenTexts(await server("plain"));
        const strict = new TextDecoder("utf-8", { fatal: true });
        for (const text of texts) {
          if (!text.startsWith("bytes:")) continue;
          expect(text).toMatch(
            /^bytes:(?:[ -[\]-~]|\\\\|\\x(?:[01][0-9a-f]|7f|[89a-f][0-9a-f]))+$/,
          );
          expect(() => strict.decode(bytesOf(text))).toThrow();
        }
        expect(new Set(texts).size).toBe(texts.length);
      },
    );
  },
);

rule(
  "7.10",
  "The offset of a token is the number of characters that are complete before it, so parts of one character share an offset.",
  (prove) => {
    prove("an echoed prompt with characters of several tokens", async () => {
      for (const name of ["plain", "bytes"] as const) {
        const api = await server(name);
        const text = "a 적 \u{1f9d1} b";
        const answer = await api.complete({ prompt: text, max_tokens: 0, echo: true, logprobs: 0 });
        const { tokens, text_offset } = logprobsOf(choiceOf(answer));
        const hidden = name === "bytes" ? 1 : 0;
        let read = Buffer.alloc(0);
        for (const [place, token] of tokens.entries()) {
          if (place < hidden) continue;
          const complete = read.toString().replace(/\ufffd+$/, "");
          expect(text_offset[place], `${name} ${token}`).toBe(codePoints(complete));
          read = Buffer.concat([read, bytesOf(token)]);
        }
        expect(new Set(text_offset.slice(hidden)).size).toBeLessThan(tokens.length - hidden);
      }
    });

    prove("joined from its offset on, the tokens are the generated text", async () => {
      const api = await server("plain");
      const drawn = { prompt, max_tokens: 6, logprobs: 0, echo: true, ignore_eos: true };
      const { answer } = await firstWhere(api, drawn, (found) => isPlain(choiceOf(found)));
      const { tokens, text_offset } = logprobsOf(choiceOf(answer));
      const start = text_offset.indexOf(codePoints(prompt));
      expect(tokens.slice(start).join("")).toBe(choiceOf(answer).text.slice(prompt.length));
    });
  },
);

rule("7.11", "In a stream offsets go on over the chunks.", (prove) => {
  prove("the chunks' arrays put together are the arrays of the whole answer", async () => {
    for (const { name, whole, streamed } of await samples()) {
      if (streamed === undefined) continue;
      const folded = foldChunks(streamed.chunks);
      for (const [index, choice] of whole.choices.entries()) {
        expect(folded[index]?.logprobs, name).toEqual(choice.logprobs);
      }
    }
  });
});

rule(
  "7.12",
  "An end token has no entry, except with echo: then it has one, written as its text, at the end of the text.",
  (prove) => {
    const ended = { prompt, max_tokens: 5, logprobs: 1, logit_bias: { 0: 100 } };

    prove("without echo no entry, with echo one", async () => {
      const api = await server("plain");
      expect(logprobsOf(choiceOf(await api.complete(ended))).tokens).toEqual([]);
      const echoed = choiceOf(await api.complete({ ...ended, echo: true, max_tokens: 1 }));
      const { tokens, text_offset, token_logprobs } = logprobsOf(echoed);
      expect(echoed).toMatchObject({ text: prompt, finish_reason: "stop" });
      expect(tokens.at(-1)).toBe("<|endoftext|>");
      expect(tokens.length).toBe((await api.tokenize(prompt)).length + 1);
      expect(text_offset.at(-1)).toBe(codePoints(prompt));
      expect(token_logprobs.at(-1)).toBeLessThan(0);
    });
  },
);

rule(
  "7.13",
  "With a stop string there are entries for the tokens whose text begins inside the returned text; a token that is cut is kept whole.",
  (prove) => {
    prove("a stop string that begins inside a token", async () => {
      const api = await server("plain");
      const drawn = { prompt, max_tokens: 10, logprobs: 0, ignore_eos: true };
      const longToken = (tokens: readonly string[]) =>
        tokens.findIndex((token, place) => place > 3 && token.length > 3);
      const { request, answer } = await firstWhere(api, drawn, (found) => {
        const { tokens } = logprobsOf(choiceOf(found));
        const place = longToken(tokens);
        if (place < 0 || !isPlain(choiceOf(found))) return false;
        const stop = tokens[place]?.slice(2) + (tokens[place + 1] ?? "");
        return tokens.join("").indexOf(stop) === tokens.slice(0, place).join("").length + 2;
      });
      const { tokens } = logprobsOf(choiceOf(answer));
      const place = longToken(tokens);
      const stop = (tokens[place]?.slice(2) ?? "") + (tokens[place + 1] ?? "");
      const cut = choiceOf(await api.complete({ ...request, stop }));
      expect(cut.finish_reason).toBe("stop");
      expect(cut.text).toBe(tokens.slice(0, place).join("") + tokens[place]?.slice(0, 2));
      expect(logprobsOf(cut).tokens).toEqual(tokens.slice(0, place + 1));
    });
  },
);

rule("7.14", "Special tokens are written as their names.", (prove) => {
  prove("in a prompt that names them, and as alternatives", async () => {
    const api = await server("plain");
    const request = {
      prompt: "<|im_start|>river<|im_end|>",
      max_tokens: 0,
      echo: true,
      logprobs: 0,
    };
    const { tokens } = logprobsOf(choiceOf(await api.complete(request)));
    expect(tokens[0]).toBe("<|im_start|>");
    expect(tokens.at(-1)).toBe("<|im_end|>");
  });
});

rule("7.15", "`echo` and `logprobs` together score a prompt.", (prove) => {
  prove(
    "every token after the first has the logprob that it has as a draw, near enough",
    async () => {
      const api = await server("standard");
      const text = "The capital of France is";
      const drawn = await api.complete({
        prompt: text,
        max_tokens: 3,
        temperature: 0,
        logprobs: 1,
      });
      const scored = await api.complete({
        prompt: text + choiceOf(drawn).text,
        ...{ max_tokens: 0, echo: true, logprobs: 1 },
      });
      const generated = logprobsOf(choiceOf(drawn));
      const { tokens, token_logprobs } = logprobsOf(choiceOf(scored));
      expect(tokens.slice(-3)).toEqual(generated.tokens);
      for (const [place, value] of token_logprobs.slice(-3).entries()) {
        expect(value).toBeCloseTo(generated.token_logprobs[place] as number, 0);
      }
    },
  );
});
