import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  concatenate,
  decodeWhole,
  outputTokens,
  searchPlainly,
  stopStrings,
} from "../text/testing/arbitraries.ts";
import { Candidate } from "./candidate.ts";
import type { Job, SamplingParameters } from "./engine.ts";
import {
  eos,
  job,
  row,
  run,
  sampling,
  say,
  stopping,
  vocabulary,
} from "./testing/candidate-run.ts";
import { testVocabulary } from "./testing/vocabulary.ts";

describe("the end of a candidate", () => {
  test("with max_tokens 0 it finishes at once with length and no tokens", () => {
    const { events } = run({ ...job, maxTokens: 0, tokenLogprobs: true }, say("a"), { index: 3 });
    expect(events).toEqual([
      {
        kind: "finished",
        candidate: 3,
        reason: "length",
        end: undefined,
        tokenCount: 0,
        meanLogprob: undefined,
      },
    ]);
  });

  test("EOS ends with stop: it is given as the end, in no text and in no count", () => {
    for (const end of ["</s>", "<|end|>"]) {
      const { finished, text, candidate, next } = run(job, say(`h€y${end}never`));
      expect(text).toBe("h€y");
      expect(finished).toMatchObject({ reason: "stop", tokenCount: 5 });
      expect(finished.end).toEqual({ token: vocabulary.id(end), score: undefined, offset: 3 });
      expect(candidate.generated).toEqual(say("h€y"));
      expect(next).toEqual([...say("h€y"), undefined]);
    }
  });

  test("max_tokens ends with length on the last token, which is counted", () => {
    const { finished, text } = run({ ...job, maxTokens: 2 }, say("xyz"));
    expect(text).toBe("xy");
    expect(finished).toMatchObject({ reason: "length", tokenCount: 2, end: undefined });
  });

  test("a full context ends with length and releases what was held", () => {
    const { finished, text } = run(stopping({ strings: ["yes"] }), say("xye"));
    expect(text).toBe("xye");
    expect(finished).toMatchObject({ reason: "length", tokenCount: 3 });
  });

  test("a begun character becomes U+FFFD in the last group, with its tokens", () => {
    const said = [0x61, 0xe2, 0x80];
    for (const { groups } of [run({ ...job, maxTokens: 3 }, said), run(job, [...said, eos])]) {
      expect(groups.map(({ text, tokens }) => [text, tokens.length])).toEqual([
        ["a", 1],
        ["\ufffd", 2],
      ]);
    }
  });

  test("ignored EOS tokens are tokens of no width, and their text when special tokens show", () => {
    const hidden = run(stopping({ ignoreEos: true }, { maxTokens: 3 }), say("a</s>b"));
    expect(hidden.text).toBe("ab");
    expect(hidden.finished).toMatchObject({ reason: "length", tokenCount: 3 });
    expect(hidden.groups.map(({ tokens }) => tokens[0]?.offset)).toEqual([0, 1, 1]);
    const shown = stopping({ ignoreEos: true }, { maxTokens: 3, skipSpecialTokens: false });
    expect(run(shown, say("a</s>b")).text).toBe("a</s>b");
  });

  test("special tokens in between follow skip_special_tokens", () => {
    expect(run(job, say("a<|mark|>b")).text).toBe("ab");
    expect(run({ ...job, skipSpecialTokens: false }, say("a<|mark|>b")).text).toBe("a<|mark|>b");
  });

  test("it cannot go on after it finished", () => {
    const { candidate } = run(job, [eos]);
    expect(candidate.finished).toBe(true);
    expect(() => candidate.accept(row(vocabulary.size, 0), () => {})).toThrow();
  });
});

describe("logprobs", () => {
  const scored: Job = { ...job, tokenLogprobs: true, topLogprobs: 2 };
  /** A row has one 20, one 10 and else 0. */
  const normaliser = Math.log(1 + Math.exp(-10) + (vocabulary.size - 2) * Math.exp(-20));

  test("are raw: bias, penalties and temperature do not touch them", () => {
    const changed: SamplingParameters = {
      ...sampling,
      temperature: 2,
      topK: 1,
      logitBias: [[0x62, 15]],
      repetitionPenalty: 1.2,
      presencePenalty: 1,
    };
    const { groups } = run({ ...scored, sampling: changed }, [0x61], { runnerUp: 0x62 });
    expect(groups[0]?.tokens[0]).toEqual({
      token: 0x62,
      offset: 0,
      score: {
        logprob: Math.fround(-10 - normaliser),
        top: [
          [0x61, expect.closeTo(Math.fround(-normaliser), 10)],
          [0x62, Math.fround(-10 - normaliser)],
        ],
      },
    });
  });

  test("are absent unless asked for; the own logprob comes without alternatives", () => {
    expect(run(job, [0x61]).groups[0]?.tokens[0]?.score).toBeUndefined();
    expect(run(job, [0x61]).finished.meanLogprob).toBeUndefined();
    const alone = run({ ...job, tokenLogprobs: true }, [0x61]).groups[0]?.tokens[0]?.score;
    expect(alone?.top).toEqual([]);
  });

  test("the rank is the mean over counted tokens and EOS, without tokens of the match", () => {
    const likely = Math.fround(-normaliser);
    const unlikely = Math.fround(-10 - normaliser);
    // The bias lets the runner-up win once; then the penalty takes the lead back.
    const biased = {
      ...sampling,
      logitBias: [[0x62, 15]] as [number, number][],
      frequencyPenalty: 6,
    };
    const ended = run({ ...scored, sampling: biased }, [0x61, 0x63, eos], { runnerUp: 0x62 });
    expect(ended.tokens).toEqual([0x62, 0x63]);
    expect(ended.finished).toMatchObject({ reason: "stop", tokenCount: 2 });
    expect(ended.finished.meanLogprob).toBeCloseTo((unlikely + 2 * likely) / 3, 10);
    const empty = run(scored, [eos], { runnerUp: 0x62 });
    expect(empty.finished).toMatchObject({
      tokenCount: 0,
      meanLogprob: expect.closeTo(likely, 10),
    });
    const matched = run(stopping({ strings: ["b"] }, { ...scored, sampling: biased }), [0x61], {
      runnerUp: 0x62,
    });
    expect(matched.finished).toMatchObject({ tokenCount: 0, meanLogprob: undefined });
  });
});

test("candidates of a job draw differently, the same candidate draws the same again", () => {
  const drawn = (index: number) => {
    const candidate = new Candidate({
      job: { ...job, sampling: { ...sampling, temperature: 1 }, maxTokens: 30 },
      index,
      vocabulary,
    });
    const flat = new Float32Array(vocabulary.size);
    flat.fill(-100, 256);
    while (candidate.accept(flat, () => {}) !== undefined);
    return candidate.generated;
  };
  expect(drawn(1)).toEqual(drawn(1));
  expect(drawn(1)).not.toEqual(drawn(0));
});

test("whatever is said and however it is cut, events agree with a search of the whole text", () => {
  fc.assert(
    fc.property(outputTokens, stopStrings, fc.boolean(), (pieces, strings, ends) => {
      const words = testVocabulary({ tokens: pieces, special: ["</s>"] });
      const ids = pieces.map((_, place) => 256 + place);
      const said = ends ? [...ids, words.eos ?? 0] : ids;
      const outcome = run(stopping({ strings }, { maxTokens: 50 }), said, { words });
      const whole = decodeWhole(concatenate(pieces));
      const match = searchPlainly(whole, strings);
      const { text, tokens, finished, groups } = outcome;
      expect(text).toBe(whole.slice(0, match?.start));
      expect(tokens).toEqual(ids.slice(0, tokens.length));
      expect(finished.tokenCount).toBe(tokens.length);
      expect(finished.reason).toBe(ends || match ? "stop" : "length");
      expect(finished.end?.offset).toBe(ends && !match ? [...text].length : undefined);
      let before = 0;
      for (const group of groups) {
        expect(group.tokens[0]?.offset).toBe(before);
        before += [...group.text].length;
      }
    }),
    { numRuns: 500 },
  );
});
