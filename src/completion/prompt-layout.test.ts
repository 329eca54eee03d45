import { describe, expect, test } from "vitest";
import { testVocabulary } from "../engine/testing/vocabulary.ts";
import { layOutPrompt } from "./prompt-layout.ts";

/** Pieces as SentencePiece has them: words carry their space in front. */
const vocabulary = testVocabulary({
  tokens: [" a", " b", "  ", "a", "é"],
  addsBos: true,
});
const { id } = vocabulary;

function layOut(text: string, tokens: readonly number[], hiddenTokens = 1) {
  const entries = layOutPrompt({ text, tokens, hiddenTokens }, vocabulary);
  return entries.map((entry) => [entry.text, entry.offset]);
}

describe("a space that the tokenizer added", () => {
  test("in front of the text is no part of the first token", () => {
    expect(layOut("a b", [id("<s>"), id(" a"), id(" b")])).toEqual([
      ["<s>", 0],
      ["a", 0],
      [" b", 1],
    ]);
  });

  test("is told from a space that the text begins with", () => {
    expect(layOut(" ", [id("<s>"), id("  ")])).toEqual([
      ["<s>", 0],
      [" ", 0],
    ]);
    expect(layOut(" a", [id("<s>"), id(" "), id(" a")])).toEqual([
      ["<s>", 0],
      [" ", 0],
      ["a", 1],
    ]);
  });

  test("behind a special token in the text is no part of the token there", () => {
    expect(layOut("a</s>b", [id("<s>"), id(" a"), id("</s>"), id(" b")])).toEqual([
      ["<s>", 0],
      ["a", 0],
      ["</s>", 1],
      ["b", 5],
    ]);
  });

  test("that is a token of its own has no text", () => {
    expect(layOut("é", [id("<s>"), id(" "), id("é")])).toEqual([
      ["<s>", 0],
      ["", 0],
      ["é", 0],
    ]);
  });

  test("is found where the text writes its spaces as U+2581", () => {
    expect(layOut("\u2581a", [id("<s>"), id("  "), id("a")])).toEqual([
      ["<s>", 0],
      [" ", 0],
      ["a", 1],
    ]);
  });

  test("is not looked for in a token array, whose text is that of its tokens", () => {
    expect(layOut(" a b", [id(" a"), id(" b")], 0)).toEqual([
      [" a", 0],
      [" b", 2],
    ]);
  });
});

describe("bytes that are no character (contract 7)", () => {
  test("count as one character in front of a token that does not go on with them", () => {
    expect(layOut("\ufffda", [0xe2, 0x82, id("a")], 0)).toEqual([
      ["bytes:\\xe2", 0],
      ["bytes:\\x82", 0],
      ["a", 1],
    ]);
  });

  test("are one character with the bytes that complete them", () => {
    expect(layOut("€a", [0xe2, 0x82, 0xac, id("a")], 0)).toEqual([
      ["bytes:\\xe2", 0],
      ["bytes:\\x82", 0],
      ["bytes:\\xac", 0],
      ["a", 1],
    ]);
  });
});
