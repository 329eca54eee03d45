/**
 * Section 10, continued: insertion by reranking on a model without infill markers, computed a second
 * time here from plain answers: drawn candidates, their cuts, and scores read with `echo`.
 */
import { expect } from "vitest";
import { type Api, type Body, firstWhere } from "../support/api.ts";
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
  readonly score: number;
}

/** Words that are single tokens; with the two ends they are all that may be drawn. */
const words = [" the", " river", " was", " and", " not", " that", " she", " to", " had", " when"];

/** Draws without a suffix, such that some lines or sentences end inside a candidate. */
async function drawn(api: Api, candidates: number): Promise<{ request: Body; choices: Choice[] }> {
  const ids = await Promise.all([lineEnd, sentenceEnd, ...words].map((text) => api.tokenize(text)));
  const single = ids.flatMap((tokens) => (tokens.length === 1 ? tokens : []));
  const request = {
    ...{ prompt, max_tokens: 6, logprobs: 0, n: candidates, temperature: 2 },
    logit_bias: Object.fromEntries(single.map((id) => [id, 100])),
  };
  const found = await firstWhere(
    api,
    request,
    ({ choices }) => choices.every(isUsable) && choices.some((choice) => cutsOf(choice).length > 1),
  );
  const { n: _, ...plain } = found.request;
  return { request: plain, choices: found.answer.choices };
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
      const all = [...numbers(token_logprobs.slice(0, kept)), ...numbers(read)];
      const text = tokens.slice(0, kept).join("");
      found.push({ candidate, text, score: sum(all) / all.length });
    }
  }
  return found;
}

/** The best cut of each candidate, the best candidate first. */
function ranked(found: readonly Middle[]): Middle[] {
  const best = new Map<number, Middle>();
  for (const middle of found) {
    if (middle.score > (best.get(middle.candidate)?.score ?? Number.NEGATIVE_INFINITY)) {
      best.set(middle.candidate, middle);
    }
  }
  return [...best.values()].toSorted((left, right) => right.score - left.score);
}

rule(
  "10.7",
  "Without infill markers four candidates are drawn for each choice, each is cut after its lines and sentences and at its end, and the middle with the highest mean logprob of middle and suffix wins; n choices are the n best candidates.",
  (prove) => {
    prove("the winner is the one that scoring every cut finds", async () => {
      const api = await server("plain");
      const { request, choices } = await drawn(api, 4);
      const [winner] = ranked(await middles(api, choices));
      const answer = await api.complete({ ...request, suffix });
      expect(choiceOf(answer).text).toBe(winner?.text);
      expect(logprobsOf(choiceOf(answer)).tokens.join("")).toBe(winner?.text);
    });

    prove("two choices are the best two of eight", async () => {
      const api = await server("plain");
      const { request, choices } = await drawn(api, 8);
      const best = ranked(await middles(api, choices)).slice(0, 2);
      const answer = await api.complete({ ...request, suffix, n: 2 });
      expect(answer.choices.map(({ text }) => text)).toEqual(best.map(({ text }) => text));
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
      expect(choiceOf(answer).text.length).toBeGreaterThan(0);
      expect(greedy.startsWith(choiceOf(answer).text)).toBe(true);
    });
  },
);
