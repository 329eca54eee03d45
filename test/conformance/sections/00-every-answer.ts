/** What holds for every answer, checked on answers to requests of many shapes. */
import { expect } from "vitest";
import { rulesOf } from "../support/rule.ts";
import { choicesOf, samples, wireChoices } from "../support/samples.ts";
import { codePoints, logprobsOf, rawTokenLogprobs, rawTopLogprobs } from "../support/wire.ts";

const rule = rulesOf(import.meta.url);

rule(
  "0.1",
  "Every choice, in every chunk too, has the keys `text`, `index`, `logprobs` and `finish_reason`; `text` is always a string.",
  (prove) => {
    prove("the four keys are there, in this order, in whole answers and in chunks", async () => {
      for (const sample of await samples()) {
        for (const choice of wireChoices(sample)) {
          const keys = Object.keys(choice);
          expect(keys, sample.name).toEqual(["text", "index", "logprobs", "finish_reason"]);
          expect(choice.text, sample.name).toBeTypeOf("string");
        }
      }
    });
  },
);

rule(
  "0.2",
  "Exactly one chunk of each choice has a `finish_reason`, and it is the choice's last.",
  (prove) => {
    prove("each index of each stream finishes once, with its last chunk", async () => {
      for (const { name, streamed, whole } of await samples()) {
        if (streamed === undefined) continue;
        for (const { index, finish_reason } of whole.choices) {
          const own = streamed.chunks
            .flatMap(({ choices }) => choices)
            .filter((choice) => choice.index === index);
          expect(own.at(-1)?.finish_reason, name).toBe(finish_reason);
          expect(own.filter((choice) => choice.finish_reason !== null).length, name).toBe(1);
        }
      }
    });
  },
);

rule(
  "0.3",
  "With `logprobs` every choice of every chunk has a logprobs object, which may hold empty arrays; without, it is null everywhere.",
  (prove) => {
    prove("objects when asked for, null when not", async () => {
      for (const sample of await samples()) {
        const wanted = sample.body.logprobs !== undefined;
        for (const { logprobs } of wireChoices(sample)) {
          expect(logprobs !== null, sample.name).toBe(wanted);
          if (logprobs === null) continue;
          const keys = ["tokens", "token_logprobs", "top_logprobs", "text_offset"];
          expect(Object.keys(logprobs), sample.name).toEqual(keys);
          for (const list of Object.values(logprobs)) {
            expect(list.length, sample.name).toBe(logprobs.tokens.length);
          }
        }
      }
    });
  },
);

rule(
  "0.4",
  "`token_logprobs[i]` and the value under `tokens[i]` in `top_logprobs[i]` are the same number, digit by digit.",
  (prove) => {
    prove("the digits of both places are equal", async () => {
      for (const { name, whole, streamed } of await samples()) {
        for (const body of [whole.raw, streamed?.raw ?? ""]) {
          const own = rawTokenLogprobs(body);
          const top = rawTopLogprobs(body);
          expect(top.length, name).toBe(own.length);
          const first = top.map((entries) => entries?.[0]?.digits ?? "null");
          expect(first, name).toEqual(own);
        }
      }
    });

    prove("looked up by the token's text it is the token's logprob", async () => {
      for (const sample of await samples()) {
        for (const { logprobs } of wireChoices(sample)) {
          for (const [place, token] of (logprobs?.tokens ?? []).entries()) {
            const top = logprobs?.top_logprobs[place];
            expect(top?.[token] ?? null, sample.name).toBe(logprobs?.token_logprobs[place]);
          }
        }
      }
    });
  },
);

rule(
  "0.5",
  "With echo there is a logprobs entry for every prompt token and every generated token, an end token included.",
  (prove) => {
    prove(
      "entries are prompt tokens plus completion tokens, plus one where an end token ended it",
      async () => {
        for (const sample of await samples()) {
          const { body, whole, name } = sample;
          if (body.echo !== true || body.logprobs === undefined) continue;
          const ended =
            name.includes("ended with echo") || whole.choices[0]?.finish_reason === "stop";
          const { prompt_tokens, completion_tokens } = whole.usage;
          const expected = prompt_tokens + completion_tokens + (ended ? 1 : 0);
          for (const choice of choicesOf(sample)) {
            expect(logprobsOf(choice).tokens.length, name).toBe(expected);
          }
        }
      },
    );
  },
);

rule(
  "0.6",
  "A prompt of token ids is used as it is: nothing is added in front and nothing is tokenized again.",
  (prove) => {
    prove("as many prompt tokens as ids, and their text is echoed", async () => {
      for (const { name, body, whole } of await samples()) {
        if (!name.endsWith("token ids with echo")) continue;
        expect(whole.usage.prompt_tokens, name).toBe((body.prompt as number[]).length);
        expect(whole.choices[0]?.text.trimStart(), name).toMatch(/^Grüße 中文 😀 é/);
      }
    });
  },
);

rule(
  "0.7",
  "`text_offset` counts code points from the start of the prompt, with echo and without.",
  (prove) => {
    prove(
      "offsets never fall, begin at the end of the prompt without echo, and end inside the text",
      async () => {
        for (const sample of await samples()) {
          const { body, name } = sample;
          const prompts = Array.isArray(body.prompt) ? body.prompt : [body.prompt];
          for (const choice of choicesOf(sample)) {
            const offsets = choice.logprobs?.text_offset ?? [];
            if (offsets.length === 0) continue;
            expect(offsets, name).toEqual(offsets.toSorted((left, right) => left - right));
            const prompt: unknown = prompts[Math.floor(choice.index / ((body.n as number) ?? 1))];
            const base = body.echo === true ? 0 : codePoints(prompt as string);
            expect(offsets[0], name).toBe(base);
            expect(offsets.at(-1), name).toBeLessThanOrEqual(base + codePoints(choice.text));
          }
        }
      },
    );
  },
);

rule(
  "0.8",
  "With echo the first entries of `token_logprobs` and `top_logprobs` are null; nothing else ever is, and `top_logprobs` is always an array.",
  (prove) => {
    prove("null in the first place with echo and in no other", async () => {
      for (const sample of await samples()) {
        for (const { logprobs } of choicesOf(sample)) {
          if (logprobs === null) continue;
          const { token_logprobs, top_logprobs } = logprobs;
          expect(Array.isArray(top_logprobs), sample.name).toBe(true);
          for (const [place, value] of token_logprobs.entries()) {
            const isNull = place === 0 && sample.body.echo === true;
            expect(value === null, sample.name).toBe(isNull);
            expect(top_logprobs[place] === null, sample.name).toBe(isNull);
          }
        }
      }
    });
  },
);

rule("0.9", "Logprobs are numbers that JSON can hold, from -9999 to 0.", (prove) => {
  prove("every digit string is a JSON number in that range", async () => {
    for (const { name, whole, streamed } of await samples()) {
      for (const body of [whole.raw, streamed?.raw ?? ""]) {
        const top = rawTopLogprobs(body).flatMap((entries) => entries ?? []);
        const own = rawTokenLogprobs(body).filter((digits) => digits !== "null");
        for (const digits of [...own, ...top.map((entry) => entry.digits)]) {
          expect(digits, name).toMatch(/^-?(0|[1-9]\d*)(\.\d+)?(e-?\d+)?$/);
          expect(Number(digits), name).toBeLessThanOrEqual(0);
          expect(Number(digits), name).toBeGreaterThanOrEqual(-9999);
        }
      }
    }
  });
});

rule("0.10", "A good answer or chunk has no key `error`.", (prove) => {
  prove("no object of any answer has the key", async () => {
    for (const { name, whole, streamed } of await samples()) {
      for (const answer of [whole, ...(streamed?.chunks ?? [])]) {
        expect(Object.keys(answer), name).not.toContain("error");
      }
    }
  });
});

rule(
  "0.14",
  "`usage` has all three counts as integers, zeros included, and they add up.",
  (prove) => {
    prove("in whole answers and in the usage chunk, and both agree", async () => {
      for (const { name, whole, streamed } of await samples()) {
        const { prompt_tokens, completion_tokens, total_tokens } = whole.usage;
        for (const count of [prompt_tokens, completion_tokens]) {
          expect(Number.isInteger(count) && count >= 0, name).toBe(true);
        }
        expect(total_tokens, name).toBe(prompt_tokens + completion_tokens);
        const last = streamed?.chunks.at(-1)?.usage;
        if (streamed !== undefined)
          expect(last, name).toMatchObject({ prompt_tokens, completion_tokens, total_tokens });
      }
    });
  },
);

rule(
  "0.15",
  "`id`, `object`, `created` and `model` are on every chunk and the same within one answer.",
  (prove) => {
    prove("one value of each in a stream, of the right kind", async () => {
      for (const { name, streamed } of await samples()) {
        for (const chunk of streamed?.chunks ?? []) {
          const { id, created, model } = streamed?.chunks[0] ?? chunk;
          expect(chunk, name).toMatchObject({ id, object: "text_completion", created, model });
          expect(id, name).toMatch(/^cmpl-[0-9A-Za-z]{29}$/);
          expect(Number.isInteger(created) && created < 2 ** 32, name).toBe(true);
        }
      }
    });
  },
);
