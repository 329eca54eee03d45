import fc from "fast-check";
import { expect, test } from "vitest";
import { concatenate, decodeWhole, outputTokens } from "./testing/arbitraries.ts";
import { Utf8Assembler } from "./utf8-assembler.ts";

test("any split of any bytes gives the text of a decoder that sees them at once", () => {
  fc.assert(
    fc.property(outputTokens, (tokens) => {
      const assembler = new Utf8Assembler();
      const text = tokens.map((token) => assembler.push(token)).join("") + assembler.end();
      expect(text).toBe(decodeWhole(concatenate(tokens)));
    }),
    { numRuns: 500 },
  );
});

test("every pair of a leading byte and a next byte is decided as a decoder decides it", () => {
  const wrong: number[][] = [];
  for (let first = 0; first < 256; first += 1) {
    for (let second = 0; second < 256; second += 1) {
      const bytes = Uint8Array.of(first, second, 0x80);
      const assembler = new Utf8Assembler();
      const parts = [assembler.push(bytes.subarray(0, 1)), assembler.push(bytes.subarray(1))];
      if (parts.join("") + assembler.end() !== decodeWhole(bytes)) wrong.push([first, second]);
    }
  }
  expect(wrong).toEqual([]);
});

test("a begun character is pending until a byte completes or refuses it", () => {
  const assembler = new Utf8Assembler();
  expect(assembler.push(Uint8Array.of(0x61, 0xf0, 0x9f))).toBe("a");
  expect(assembler.pending).toBe(true);
  expect(assembler.continues(0x98)).toBe(true);
  expect(assembler.continues(0x61)).toBe(false);
  expect(assembler.push(Uint8Array.of(0x98))).toBe("");
  expect(assembler.push(Uint8Array.of(0x80))).toBe("😀");
  expect(assembler.pending).toBe(false);
  expect(assembler.continues(0x80)).toBe(false);
});

test("the end of the text turns a begun character into one U+FFFD and starts afresh", () => {
  const assembler = new Utf8Assembler();
  assembler.push(Uint8Array.of(0xf0, 0x9f, 0x98));
  expect(assembler.end()).toBe("\ufffd");
  expect(assembler.end()).toBe("");
  expect(assembler.push(Uint8Array.of(0x62))).toBe("b");
});
