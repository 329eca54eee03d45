/** Many draws at one position, compared with the distribution that they should follow. */
import { expect } from "vitest";
import type { Api, Body } from "./api.ts";
import { rawDistribution, tokenTexts } from "./distribution.ts";
import { logprobsOf, sum } from "./wire.ts";

const drawsPerRequest = 128;
const requests = 8;
/** Expected draws below which tokens share one bin. */
const binDrawsMin = 8;
/** Standard deviations: a sound sampler exceeds this once in some million tests. */
const deviations = 5;

/** How often each token of the vocabulary was drawn as the first one. */
async function countDraws(api: Api, settings: Body): Promise<number[]> {
  const texts = await tokenTexts(api);
  const counts = texts.map(() => 0);
  for (let seed = 1; seed <= requests; seed += 1) {
    const request = { max_tokens: 1, logprobs: 0, ignore_eos: true, n: drawsPerRequest, seed };
    for (const choice of (await api.complete({ ...request, ...settings })).choices) {
      const token = texts.indexOf(logprobsOf(choice).tokens[0] as string);
      counts[token] = (counts[token] as number) + 1;
    }
  }
  return counts;
}

/**
 * Draws with these settings must follow `weigh`, which gets the raw logprobs of the vocabulary and
 * gives a weight for each token (0: never drawn).
 */
export async function expectDraws(
  api: Api,
  settings: Body & { readonly prompt: string },
  weigh: (logprobs: readonly number[]) => number[],
): Promise<void> {
  const logprobs = await rawDistribution(api, await api.tokenize(settings.prompt));
  const weights = weigh(logprobs);
  const total = sum(weights);
  const counts = await countDraws(api, settings);
  const draws = sum(counts);
  const expected = weights.map((weight) => (draws * weight) / total);
  for (const [token, count] of counts.entries()) {
    if (expected[token] === 0) expect(count, `token ${token}`).toBe(0);
  }
  const [statistic, bins] = chiSquare(counts, expected);
  expect(statistic).toBeLessThanOrEqual(chiSquareLimit(bins - 1));
}

function chiSquare(counts: readonly number[], expected: readonly number[]): [number, number] {
  let statistic = 0;
  let bins = 0;
  let [restCount, restExpected] = [0, 0];
  const add = (count: number, wanted: number) => {
    statistic += (count - wanted) ** 2 / wanted;
    bins += 1;
  };
  for (const [token, wanted] of expected.entries()) {
    if (wanted >= binDrawsMin) add(counts[token] as number, wanted);
    else {
      restCount += counts[token] as number;
      restExpected += wanted;
    }
  }
  if (restExpected >= 1) add(restCount, restExpected);
  return [statistic, bins];
}

/** The value that so many deviations stand for (the approximation of Wilson and Hilferty). */
function chiSquareLimit(freedom: number): number {
  if (freedom < 1) return 1e-6;
  const spread = 2 / (9 * freedom);
  return freedom * (1 - spread + deviations * Math.sqrt(spread)) ** 3;
}
