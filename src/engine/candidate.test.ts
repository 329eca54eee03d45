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
import type {
  CandidateFinished,
  EngineEvent,
  Job,
  SamplingParameters,
  StopConditions,
  TextReleased,
  Vocabulary,
} from "./engine.ts";
import { testVocabulary } from "./testing/vocabulary.ts";

const sampling: SamplingParameters = {
  temperature: 0,
  topP: 1,
  topK: 0,
  minP: 0,
  frequencyPenalty: 0,
  presencePenalty: 0,
  repetitionPenalty: 1,
  logitBias: [],
  seed: 1,
};

const stop: StopConditions = {
  strings: [],
  tokens: [],
  includeStringInText: false,
  ignoreEos: false,
  minTokens: 0,
};

const job: Job = {
  prompt: [0],
  candidates: 1,
  maxTokens: 100,
  sampling,
  stop,
  topLogprobs: undefined,
  tokenLogprobs: false,
  scoreFrom: undefined,
  skipSpecialTokens: true,
};

const stopping = (conditions: Partial<StopConditions>, others: Partial<Job> = {}): Job => ({
  ...job,
  ...others,
  stop: { ...stop, ...conditions },
});

const vocabulary = testVocabulary({
  tokens: ["ab", "X\n", "foo"],
  special: ["<s>", "</s>", "<|end|>", "<|mark|>"],
  endOfGeneration: ["<|end|>"],
});
const eos = vocabulary.id("</s>");
const mark = vocabulary.id("<|mark|>");

/** A row in which one token is much likelier than the runner-up, and that than the rest. */
function row(size: number, token: number, runnerUp?: number): Float32Array {
  const logits = new Float32Array(size);
  if (runnerUp !== undefined) logits[runnerUp] = 10;
  logits[token] = 20;
  return logits;
}

interface Outcome {
  readonly candidate: Candidate;
  readonly events: readonly EngineEvent[];
  readonly groups: readonly TextReleased[];
  readonly text: string;
  readonly tokens: readonly number[];
  readonly finished: CandidateFinished;
  /** What `accept` returned. */
  readonly next: readonly (number | undefined)[];
}

/** Lets a model say these tokens; when they run out, the context is full. */
function run(
  theJob: Job,
  said: readonly number[],
  { words = vocabulary as Vocabulary, index = 0, runnerUp = undefined as number | undefined } = {},
): Outcome {
  const events: EngineEvent[] = [];
  const emit = (event: EngineEvent) => void events.push(event);
  const candidate = new Candidate({ job: theJob, index, vocabulary: words });
  const next: (number | undefined)[] = [];
  if (candidate.start(emit)) {
    for (const token of said) {
      next.push(candidate.accept(row(words.size, token, runnerUp), emit));
      if (next.at(-1) === undefined) break;
    }
    candidate.contextExhausted(emit);
  }
  const groups = events.filter((event) => event.kind === "text");
  const [finished, ...others] = events.filter((event) => event.kind === "finished");
  if (finished === undefined) throw new Error("The candidate did not finish.");
  expect(others).toEqual([]);
  expect(events.at(-1)).toBe(finished);
  return {
    candidate,
    events,
    groups,
    text: groups.map(({ text }) => text).join(""),
    tokens: groups.flatMap((group) => group.tokens.map(({ token }) => token)),
    finished,
    next,
  };
}

const say = (text: string) => vocabulary.encode(text, true);

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

describe("stop", () => {
  test("a stop token ends like EOS", () => {
    const { finished, text } = run(stopping({ tokens: [vocabulary.id("foo")] }), say("abfooab"));
    expect(text).toBe("ab");
    expect(finished).toMatchObject({ reason: "stop", tokenCount: 1 });
    expect(finished.end).toMatchObject({ token: vocabulary.id("foo"), offset: 2 });
  });

  test("a stop string that names a special token stops on the token, and on its text", () => {
    const conditions = stopping({ strings: ["<|mark|>"], ignoreEos: true });
    const byToken = run(conditions, say("ab<|mark|>c"));
    expect(byToken.text).toBe("ab");
    expect(byToken.finished).toMatchObject({ reason: "stop", end: { token: mark, offset: 2 } });
    const byText = run(conditions, vocabulary.encode("ab<|mark|>c"));
    expect(byText.text).toBe("ab");
    expect(byText.finished).toMatchObject({ reason: "stop", end: undefined, tokenCount: 1 });
  });

  test("a string cuts the text, its tokens are not counted, the cut token stays whole", () => {
    const { finished, text, tokens } = run(stopping({ strings: ["oX"] }), say("abfooX\nmore"));
    expect(text).toBe("abfo");
    expect(tokens).toEqual(say("abfoo"));
    expect(finished).toMatchObject({ reason: "stop", tokenCount: 2, end: undefined });
  });

  test("a match at the very start leaves no text and no tokens", () => {
    const { events, finished } = run(stopping({ strings: ["ab"] }), say("ab"));
    expect(events).toHaveLength(1);
    expect(finished).toMatchObject({ reason: "stop", tokenCount: 0, end: undefined });
  });

  test("a string kept in the text keeps its tokens; what follows it is cut", () => {
    const conditions = stopping({ strings: ["oX"], includeStringInText: true });
    const { finished, text, tokens } = run(conditions, say("abfooX\nmore"));
    expect(text).toBe("abfooX");
    expect(tokens).toEqual(say("abfooX\n"));
    expect(finished).toMatchObject({ reason: "stop", tokenCount: 3 });
  });

  test("a match on the token of max_tokens is a stop, one that waited for more as well", () => {
    for (const strings of [["c"], ["c", "cd"]]) {
      const { finished, text } = run(stopping({ strings }, { maxTokens: 3 }), say("ab-cd"));
      expect(text).toBe("ab-");
      expect(finished).toMatchObject({ reason: "stop", tokenCount: 2 });
    }
  });

  test("a match that waited when EOS came takes the text, and EOS is not the end", () => {
    const { finished, text } = run(stopping({ strings: ["X", "X\n\n"] }), say("abX\n</s>"));
    expect(text).toBe("ab");
    expect(finished).toMatchObject({ reason: "stop", tokenCount: 1, end: undefined });
  });

  test("EOS releases text that might have become a stop string", () => {
    const { finished, text } = run(stopping({ strings: ["foobar"] }), say("foo</s>"));
    expect(text).toBe("foo");
    expect(finished).toMatchObject({ reason: "stop", tokenCount: 1, end: { offset: 3 } });
  });
});

describe("min_tokens", () => {
  test("no end of generation and no stop token is drawn before", () => {
    const conditions = stopping({ minTokens: 3, tokens: [0x71], strings: ["<|mark|>"] });
    const said = [eos, 0x71, mark, eos];
    const { tokens, finished } = run(conditions, said, { runnerUp: 0x61 });
    expect(tokens).toEqual([0x61, 0x61, 0x61]);
    expect(finished).toMatchObject({ reason: "stop", end: { token: eos } });
  });

  test("stop strings are searched only in the text behind", () => {
    const { text, finished } = run(stopping({ minTokens: 2, strings: ["y"] }), say("yxzyx"));
    expect(text).toBe("yxz");
    expect(finished).toMatchObject({ reason: "stop", tokenCount: 3 });
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
          [0x61, Math.fround(-normaliser)],
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
    expect(empty.finished).toMatchObject({ tokenCount: 0, meanLogprob: likely });
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
