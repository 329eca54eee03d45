/**
 * Sections 7, 8 and 12 together: random requests, each answered without stop strings first, so that
 * what its stop strings must leave can be found by decoding and searching the whole text.
 */
import { expect } from "vitest";
import type { Api, Body } from "../support/api.ts";
import { tokenTexts } from "../support/distribution.ts";
import { rulesOf } from "../support/rule.ts";
import { server } from "../support/servers.ts";
import { bytesOf } from "../support/token-bytes.ts";
import { type Choice, choiceOf, codePoints, foldChunks, logprobsOf, sum } from "../support/wire.ts";

const rule = rulesOf(import.meta.url);
const rounds = 60;

/** Whole numbers from 0 to below `count`, the same in every run. */
type Pick = (count: number) => number;

function picker(seed: number): Pick {
  let state = seed;
  return (count) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return Math.floor((state / 2 ** 32) * count);
  };
}

/** A request whose text has parts of characters, special tokens and ends in it. */
function randomRequest(pick: Pick, texts: readonly string[], endToken: number): Body {
  const wide = texts.flatMap((text, id) => (/^bytes:|[^ -~\s]/.test(text) ? [id] : []));
  const bias: Record<string, number> = {};
  if (pick(2) === 0) {
    for (let count = 0; count < 40; count += 1) bias[wide[pick(wide.length)] as number] = 4;
  }
  if (pick(2) === 0) bias[endToken] = 3;
  if (pick(2) === 0) bias[1] = 6;
  return {
    prompt: ["The river", "中文 😀", "", [5, 280, 300]][pick(4)],
    max_tokens: 1 + pick(14),
    seed: pick(1000),
    logprobs: pick(3),
    ignore_eos: pick(2) === 0,
    skip_special_tokens: pick(2) === 0,
    n: 1 + pick(2),
    logit_bias: bias,
  };
}

/** Up to three pieces of the texts, cut anywhere between characters. */
function randomStops(pick: Pick, choices: readonly Choice[]): string[] {
  return Array.from({ length: 1 + pick(3) }, () => {
    const points = [...choiceOf({ choices }, pick(choices.length)).text];
    const start = pick(Math.max(1, points.length));
    return points.slice(start, start + 1 + pick(5)).join("");
  }).filter((text) => text !== "" && !/^<.*>$/.test(text));
}

/** The earliest match, and the longest one there, found in the whole text. */
function search(
  text: string,
  stops: readonly string[],
): { start: number; end: number } | undefined {
  const matches = stops
    .map((stop) => ({ start: text.indexOf(stop), end: text.indexOf(stop) + stop.length }))
    .filter(({ start }) => start >= 0)
    .sort((left, right) => left.start - right.start || right.end - left.end);
  return matches[0];
}

/** `whole` is the choice as it is without stop strings. */
function expectCut(
  choice: Choice,
  whole: Choice,
  stops: readonly string[],
  keepMatch: boolean,
): void {
  const match = search(whole.text, stops);
  if (match === undefined) {
    expect(choice).toEqual(whole);
    return;
  }
  const text = whole.text.slice(0, keepMatch ? match.end : match.start);
  expect(choice).toMatchObject({ text, finish_reason: "stop" });
  const [own, all] = [logprobsOf(choice), logprobsOf(whole)];
  const count = own.tokens.length;
  expect(own.tokens).toEqual(all.tokens.slice(0, count));
  expect(own.text_offset).toEqual(all.text_offset.slice(0, count));
  const end = (all.text_offset[0] as number) + codePoints(text);
  // Tokens that begin inside have entries; of those right at the end only ones without text may.
  expect(count).toBeGreaterThanOrEqual(all.text_offset.filter((offset) => offset < end).length);
  expect(count).toBeLessThanOrEqual(all.text_offset.filter((offset) => offset <= end).length);
}

function expectDecoded(
  { text, logprobs }: Choice,
  request: Body,
  special: readonly string[],
): void {
  const isShown = (token: string) =>
    request.skip_special_tokens === false || !special.includes(token);
  const bytes = Buffer.concat((logprobs?.tokens ?? []).filter(isShown).map(bytesOf));
  expect(text).toBe(new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes));
}

async function check(api: Api, endToken: number, special: readonly string[]): Promise<void> {
  const texts = await tokenTexts(api);
  const pick = picker(4711);
  for (let round = 0; round < rounds; round += 1) {
    const request = randomRequest(pick, texts, endToken);
    const whole = await api.complete(request);
    for (const choice of whole.choices) expectDecoded(choice, request, special);
    const stop = randomStops(pick, whole.choices);
    const keepMatch = pick(2) === 0;
    const cut = { ...request, stop, include_stop_str_in_output: keepMatch };
    const { choices, usage } = await api.complete(cut);
    for (const [index, choice] of choices.entries()) {
      expectCut(choice, choiceOf(whole, index), stop, keepMatch);
    }
    expect(usage.completion_tokens).toBe(
      sum(choices.map((each) => logprobsOf(each).tokens.length)),
    );
    expect(foldChunks((await api.stream(cut)).chunks)).toEqual(choices);
  }
}

rule(
  "12.6",
  "For any request: the tokens decode to the text, stop strings cut it where a search of the whole text finds them, entries and counts are those of the tokens that begin before the cut, and a stream says the same.",
  (prove) => {
    prove("random requests to a byte-level vocabulary", async () => {
      await check(await server("plain"), 0, ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]);
    });

    prove("random requests to a vocabulary of pieces and bytes", async () => {
      await check(await server("bytes"), 2, ["<unk>", "<s>", "</s>"]);
    });
  },
);
