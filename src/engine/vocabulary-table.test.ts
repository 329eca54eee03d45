import { describe, expect, test } from "vitest";
import { TableVocabulary, tokenFlag, type VocabularyData } from "./vocabulary-table.ts";

function tableOf(tokens: readonly (readonly [text: string, flags: number])[]): VocabularyData {
  const pieces = tokens.map(([text]) => new TextEncoder().encode(text));
  const offsets = new Uint32Array(tokens.length + 1);
  pieces.forEach((piece, token) => {
    offsets[token + 1] = (offsets[token] ?? 0) + piece.length;
  });
  return {
    bytes: Uint8Array.from(pieces.flatMap((piece) => [...piece])),
    offsets,
    flags: Uint8Array.from(tokens.map(([, flags]) => flags)),
    bos: 0,
    eos: 1,
    pad: undefined,
    addsBos: true,
    documentStart: 0,
    infill: undefined,
    chatTemplate: undefined,
  };
}

const data = tableOf([
  ["<s>", tokenFlag.special],
  ["</s>", tokenFlag.special | tokenFlag.endOfGeneration],
  ["", 0],
  ["é", 0],
  ["</s>", tokenFlag.special],
  ["plain", 0],
]);

describe("a vocabulary table", () => {
  test("gives the bytes of every token, also of one without any", () => {
    const vocabulary = new TableVocabulary(data);
    expect(vocabulary.size).toBe(6);
    expect([...vocabulary.bytes(2)]).toEqual([]);
    expect([...vocabulary.bytes(3)]).toEqual([0xc3, 0xa9]);
    expect(Buffer.from(vocabulary.bytes(5)).toString()).toBe("plain");
  });

  test("tells special tokens and ends", () => {
    const vocabulary = new TableVocabulary(data);
    expect([0, 1, 2, 3].map((token) => vocabulary.isSpecial(token))).toEqual([
      true,
      true,
      false,
      false,
    ]);
    expect([0, 1, 2].map((token) => vocabulary.isEndOfGeneration(token))).toEqual([
      false,
      true,
      false,
    ]);
  });

  test("finds special tokens by name, the first of equal ones, and no ordinary ones", () => {
    const vocabulary = new TableVocabulary(data);
    expect(vocabulary.specialToken("</s>")).toBe(1);
    expect(vocabulary.specialToken("plain")).toBeUndefined();
    expect(vocabulary.specialToken("<s> ")).toBeUndefined();
  });

  test("refuses tokens that do not exist", () => {
    const vocabulary = new TableVocabulary(data);
    for (const token of [-1, 6, 0.5]) {
      expect(() => vocabulary.bytes(token)).toThrow(RangeError);
      expect(() => vocabulary.isSpecial(token)).toThrow(RangeError);
    }
  });

  test("survives the way to another process", () => {
    const vocabulary = new TableVocabulary(structuredClone(data));
    expect([...vocabulary.bytes(3)]).toEqual([0xc3, 0xa9]);
    expect(vocabulary.specialToken("<s>")).toBe(0);
  });
});
