/**
 * Section 10, continued: insertion by reranking on a model without infill markers, computed a second
 * time here from plain answers: drawn candidates, their cuts, and scores read with `echo`.
 */
import { expect } from "vitest";
import type { Api } from "../support/api.ts";
import { tokenTexts } from "../support/distribution.ts";
import { rulesOf } from "../support/rule.ts";
import { server } from "../support/servers.ts";
import {
  type Choice,
  choiceOf,
  foldChunks,
  isPlain,
  logprobsOf,
  numbers,
  sum,
} from "../support/wire.ts";

const rule = rulesOf(import.meta.url);
const prompt = "The river";
const suffix = " before the sun had come.";
const lineEnd = "\n";
const sentenceEnd = ".";

interface Middle {
  readonly candidate: number;
  readonly text: string;
  /** Raw logprobs of the middle's tokens, and of the suffix after it. */
  readonly own: readonly number[];
  readonly read: readonly number[];
}

const mean = (values: readonly number[]): number => sum(values) / values.length;

/** Words that are single tokens; with the two ends they are all that may be drawn. */
const words = [" the", " river", " was", " and", " not", " that", " she", " to", " had", " when"];

/** Draws without a suffix, such that some lines or sentences end inside a candidate. */
async function drawn(api: Api, candidates: number, fromSeed: number) {
  const ids = await Promise.all([lineEnd, sentenceEnd, ...words].map((text) => api.tokenize(text)));
  const single = ids.flatMap((tokens) => (tokens.length === 1 ? tokens : []));
  const request = {
    ...{ prompt, max_tokens: 6, logprobs: 0, temperature: 2 },
    logit_bias: Object.fromEntries(single.map((id) => [id, 100])),
  };
  for (let seed = fromSeed; seed < fromSeed + 100; seed += 1) {
    const { choices } = await api.complete({ ...request, n: candidates, seed });
    const cut = choices.some((choice) => cutsOf(choice).length > 1);
    if (cut && choices.every(isUsable)) return { request: { ...request, seed }, choices, seed };
  }
  throw new Error("no seed gives candidates with cuts");
}

/** Where two ends stand side by side it is not plain which of them is the cut. */
function isUsable(choice: Choice): boolean {
  const ends = logprobsOf(choice).tokens.map(isEnd);
  return isPlain(choice) && !ends.some((end, place) => end && ends[place + 1] === true);
}

const isEnd = (token: string): boolean => token === lineEnd || token === sentenceEnd;

/** How many tokens each cut keeps. */
function cutsOf(choice: Choice): number[] {
  const { tokens } = logprobsOf(choice);
  return tokens.flatMap((token, place) =>
    isEnd(token) || place === tokens.length - 1 ? [place + 1] : [],
  );
}

async function middles(api: Api, choices: readonly Choice[]): Promise<Middle[]> {
  const texts = await tokenTexts(api);
  const [before, after] = [await api.tokenize(prompt), await api.tokenize(suffix, false)];
  const found: Middle[] = [];
  for (const [candidate, choice] of choices.entries()) {
    const { tokens, token_logprobs } = logprobsOf(choice);
    for (const kept of cutsOf(choice)) {
      const ids = tokens.slice(0, kept).map((token) => texts.indexOf(token));
      const scored = await api.complete({
        ...{ prompt: [...before, ...ids, ...after], max_tokens: 0, echo: true, logprobs: 0 },
      });
      const read = logprobsOf(choiceOf(scored)).token_logprobs.slice(-after.length);
      const text = tokens.slice(0, kept).join("");
      const own = numbers(token_logprobs.slice(0, kept));
      found.push({ candidate, text, own, read: numbers(read) });
    }
  }
  return found;
}

/** The best cut of each candidate, the best candidate first. */
function ranked(found: readonly Middle[], score = wholeMean): Middle[] {
  const order = found.toSorted((left, right) => score(right) - score(left));
  return order.filter(
    ({ candidate }, place) => order.findIndex((other) => other.candidate === candidate) === place,
  );
}

const wholeMean = ({ own, read }: Middle): number => mean([...own, ...read]);

/** Rankings that a wrong server might use: they must give another winner than the right one. */
const wrongScores: readonly ((middle: Middle) => number)[] = [
  ({ own }) => mean(own),
  ({ read }) => mean(read),
  ({ own, read }) => sum([...own, ...read]),
];

/** Draws whose winner tells the right ranking from the wrong ones. */
async function telling(api: Api, candidates: number, n: number) {
  for (let from = 1; from < 400; from += 1) {
    const { request, choices, seed } = await drawn(api, candidates, from);
    from = seed;
    const found = await middles(api, choices);
    const winners = (score?: (middle: Middle) => number) =>
      ranked(found, score)
        .slice(0, n)
        .map(({ text }) => text);
    const right = winners();
    if (wrongScores.every((score) => winners(score).join("|") !== right.join("|"))) {
      return { request, texts: right };
    }
  }
  throw new Error("no seed tells the rankings apart");
}

rule(
  "10.7",
  "Without infill markers four candidates are drawn for each choice, each is cut after its lines and sentences and at its end, and the middle with the highest mean logprob of middle and suffix wins; n choices are the n best candidates.",
  (prove) => {
    prove("the winner is the one that scoring every cut finds", async () => {
      const api = await server("plain");
      const { request, texts } = await telling(api, 4, 1);
      const answer = await api.complete({ ...request, suffix });
      expect(choiceOf(answer).text).toBe(texts[0]);
      expect(logprobsOf(choiceOf(answer)).tokens.join("")).toBe(texts[0]);
    });

    prove("two choices are the best two of eight", async () => {
      const api = await server("plain");
      const { request, texts } = await telling(api, 8, 2);
      const answer = await api.complete({ ...request, suffix, n: 2 });
      expect(answer.choices.map(({ text }) => text)).toEqual(texts);
    });
  },
);

rule("10.8", "The tokens of all candidates of a reranked insertion count.", (prove) => {
  prove("as many as the candidates drawn without a suffix have", async () => {
    const api = await server("plain");
    const request = { prompt, max_tokens: 6, seed: 5 };
    const candidates = await api.complete({ ...request, n: 4 });
    const answer = await api.complete({ ...request, suffix });
    expect(answer.usage.completion_tokens).toBe(candidates.usage.completion_tokens);
  });
});

rule(
  "10.9",
  "A streamed reranked insertion sends the chosen middle as token chunks; at temperature 0 all candidates are one, and only its cut is chosen.",
  (prove) => {
    prove("stream and whole answer agree", async () => {
      const api = await server("plain");
      const request = { prompt, suffix, max_tokens: 8, seed: 5, logprobs: 1, n: 2 };
      const { chunks } = await api.stream(request);
      expect(foldChunks(chunks)).toEqual((await api.complete(request)).choices);
    });

    prove("at temperature 0 the middle begins the greedy text", async () => {
      const api = await server("plain");
      const request = { prompt, max_tokens: 12, temperature: 0 };
      const greedy = choiceOf(await api.complete(request)).text;
      const answer = await api.complete({ ...request, suffix });
      expect(choiceOf(answer).text === "").toBe(greedy === "");
      expect(greedy.startsWith(choiceOf(answer).text)).toBe(true);
    });
  },
);
