/** Section 8, continued: when text may be shown, and how a choice ends. */
import { expect } from "vitest";
import { type CompletionReply, firstWhere, type StreamReply } from "../support/api.ts";
import { rulesOf } from "../support/rule.ts";
import { server } from "../support/servers.ts";
import {
  type Choice,
  choiceOf,
  foldChunks,
  isNarrow,
  isPlain,
  logprobsOf,
} from "../support/wire.ts";

const rule = rulesOf(import.meta.url);
const prompt = "The river was";
const request = { prompt, max_tokens: 12, seed: 3 };

const choicesIn = ({ chunks }: StreamReply, index = 0): Choice[] =>
  chunks.flatMap(({ choices }) => choices).filter((choice) => choice.index === index);

rule(
  "8.3",
  "A chunk carries one token of one choice; only a token that is a part of a character waits for the parts that complete it.",
  (prove) => {
    prove(
      "one logprobs entry a chunk, more only where the first of them are no whole characters",
      async () => {
        const api = await server("plain");
        for (const seed of [1, 2, 3, 4]) {
          const streamed = await api.stream({
            ...request,
            seed,
            max_tokens: 24,
            n: 2,
            logprobs: 0,
            ignore_eos: true,
            // Special tokens have no bytes and would stand among the parts of a character.
            logit_bias: { 0: -100, 1: -100, 2: -100 },
          });
          for (const choice of streamed.chunks.flatMap(({ choices }) => choices)) {
            const { tokens } = logprobsOf(choice);
            expect(tokens.length).toBeGreaterThan(0);
            for (const token of tokens.slice(0, -1)) expect(token).toMatch(/^bytes:/);
          }
        }
      },
    );

    prove("without logprobs there are as many chunks", async () => {
      const api = await server("plain");
      const withLogprobs = await api.stream({ ...request, logprobs: 0 });
      expect((await api.stream(request)).chunks.length).toBe(withLogprobs.chunks.length);
    });
  },
);

rule(
  "8.4",
  "An end token sends a last chunk with an empty text, `stop` and, where logprobs were asked for, four empty arrays.",
  (prove) => {
    prove("the chunk of the end", async () => {
      const api = await server("plain");
      const drawn = { prompt, max_tokens: 16, logit_bias: { 0: 3 } };
      const found = await firstWhere(
        api,
        drawn,
        (answer) => answer.usage.completion_tokens > 1 && choiceOf(answer).finish_reason === "stop",
      );
      const plain = await api.stream(found.request);
      expect(choicesIn(plain).at(-1)).toEqual({
        text: "",
        index: 0,
        logprobs: null,
        finish_reason: "stop",
      });
      const detailed = await api.stream({ ...found.request, logprobs: 2 });
      expect(choicesIn(detailed).at(-1)).toEqual({
        text: "",
        index: 0,
        logprobs: { tokens: [], token_logprobs: [], top_logprobs: [], text_offset: [] },
        finish_reason: "stop",
      });
    });
  },
);

rule("8.5", "`length` stands on the chunk of the last token.", (prove) => {
  prove("the last chunk has a token and the reason", async () => {
    const streamed = await (await server("plain")).stream({
      ...request,
      ignore_eos: true,
      logprobs: 1,
    });
    const last = choicesIn(streamed).at(-1);
    expect(last?.finish_reason).toBe("length");
    expect(last?.logprobs?.tokens.length).toBeGreaterThan(0);
  });
});

rule(
  "8.6",
  "Text is held back only while a stop string may still take it; then each held token is a chunk of its own.",
  (prove) => {
    prove("a stop string that never completes delays tokens and joins none", async () => {
      const api = await server("plain");
      const drawn = { ...request, ignore_eos: true, logprobs: 1 };
      const { request: found, answer } = await firstWhere(api, drawn, (whole) =>
        isPlain(choiceOf(whole)),
      );
      const { text } = choiceOf(answer);
      // Everything from the third character on may be the stop string, until the very end.
      const streamed = await api.stream({ ...found, stop: `${text.slice(2)}#never#` });
      expect(choicesIn(streamed).map((choice) => choice.text)).toEqual(
        logprobsOf(choiceOf(answer)).tokens,
      );
      expect(foldChunks(streamed.chunks)).toEqual(answer.choices);
    });
  },
);

rule(
  "8.7",
  "No part of a stop string is ever sent, overlapping stop strings included.",
  (prove) => {
    async function cut(stops: (text: string) => readonly string[]): Promise<void> {
      const api = await server("plain");
      const drawn = { ...request, ignore_eos: true };
      const isUsable = (whole: CompletionReply) => {
        const { text } = choiceOf(whole);
        return text.length > 14 && isNarrow(text) && text.indexOf(text.slice(6, 12)) === 6;
      };
      const { request: found, answer } = await firstWhere(api, drawn, isUsable);
      const { text } = choiceOf(answer);
      const streamed = choicesIn(await api.stream({ ...found, stop: stops(text) }));
      expect(streamed.map((choice) => choice.text).join("")).toBe(text.slice(0, 6));
      expect(streamed.at(-1)?.finish_reason).toBe("stop");
    }

    prove("one stop string over several tokens", () => cut((text) => [text.slice(6, 12)]));
    prove("a stop string that begins another one", () =>
      cut((text) => [text.slice(6, 12), text.slice(6, 13), `${text.slice(5, 8)}#`]),
    );
  },
);

rule("8.8", "The choices of one stream come mixed, each chunk with its index.", (prove) => {
  prove("the second choice starts before the first one has ended", async () => {
    const { chunks } = await (await server("plain")).stream({ ...request, n: 3, ignore_eos: true });
    const order = chunks.map(({ choices }) => choices[0]?.index);
    expect(new Set(order)).toEqual(new Set([0, 1, 2]));
    expect(order.indexOf(1)).toBeLessThan(order.lastIndexOf(0));
  });
});
