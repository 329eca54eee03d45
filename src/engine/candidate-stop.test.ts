import { describe, expect, test } from "vitest";
import { eos, mark, run, say, stopping, vocabulary } from "./testing/candidate-run.ts";

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
