import fc from "fast-check";
import { expect, test } from "vitest";
import { countCodePoints } from "./code-points.ts";

const units = fc.array(fc.oneof(fc.integer({ min: 0xd7fe, max: 0xe001 }), fc.nat(0xffff)));

test("code points are counted as the string iterator counts them, lone surrogates included", () => {
  fc.assert(
    fc.property(units, (codes) => {
      const text = String.fromCharCode(...codes);
      expect(countCodePoints(text)).toBe([...text].length);
    }),
  );
});
