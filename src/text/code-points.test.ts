import fc from "fast-check";
import { expect, test } from "vitest";
import { countCodePoints, unitOffset } from "./code-points.ts";

const units = fc.array(fc.oneof(fc.integer({ min: 0xd7fe, max: 0xe001 }), fc.nat(0xffff)));

test("code points are counted as the string iterator counts them, lone surrogates included", () => {
  fc.assert(
    fc.property(units, (codes) => {
      const text = String.fromCharCode(...codes);
      expect(countCodePoints(text)).toBe([...text].length);
    }),
  );
});

test("a code point number is turned into the index at which it begins", () => {
  fc.assert(
    fc.property(units, fc.nat(20), (codes, codePoint) => {
      const text = String.fromCharCode(...codes);
      expect(unitOffset(text, codePoint)).toBe([...text].slice(0, codePoint).join("").length);
    }),
  );
});
