import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { printFloat32, printLogprob } from "./float32.ts";

const view = new DataView(new ArrayBuffer(4));
function fromBits(bits: number): number {
  view.setUint32(0, bits >>> 0);
  return view.getFloat32(0);
}

/** The definition: the first precision whose digits read back as the same float32. */
function shortestByTrial(value: number): number {
  for (let digits = 1; digits <= 9; digits += 1) {
    const candidate = Number(value.toPrecision(digits));
    if (Math.fround(candidate) === value) return candidate;
  }
  throw new Error("nine digits are enough for every float32");
}

function check(value: number): void {
  const printed = printFloat32(value);
  expect(Math.fround(JSON.parse(printed))).toBe(value === 0 ? 0 : value);
  expect(printed).toBe(JSON.stringify(shortestByTrial(value)));
}

describe("printFloat32", () => {
  test.each([
    [-0.1, "-0.1"],
    [-0.000043226137, "-0.000043226137"],
    [-0.0111257555, "-0.0111257555"],
    [-4.88, "-4.88"],
    [0, "0"],
    [-0, "0"],
    [-1, "-1"],
    [16777216, "16777216"],
  ])("%d is printed as %s", (value, text) => {
    expect(printFloat32(Math.fround(value))).toBe(text);
  });

  test("is the shortest text that reads back, for any bits", () => {
    fc.assert(
      fc.property(fc.nat(0xffffffff), (bits) => {
        const value = fromBits(bits);
        if (Number.isFinite(value)) check(value);
      }),
      { numRuns: 20_000 },
    );
  });

  test("holds for logprobs as they occur", () => {
    fc.assert(fc.property(fc.float({ min: -100, max: 0, noNaN: true }), check), { numRuns: 5000 });
  });

  test("holds for every power of two and its neighbours", () => {
    for (let exponent = 0; exponent < 255; exponent += 1) {
      for (const sign of [0, 0x80000000]) {
        const bits = (exponent << 23) + sign;
        for (const near of [bits, bits + 1, ...(exponent > 0 ? [bits - 1] : [])]) {
          check(fromBits(near));
        }
      }
    }
  });
});

describe("printLogprob", () => {
  test("clamps what JSON cannot hold", () => {
    for (const value of [-Infinity, Infinity, NaN, -1e300]) {
      expect(printLogprob(value)).toBe("-9999");
    }
  });
  test("rounds to single precision first, so that two computations print alike", () => {
    expect(printLogprob(-0.1)).toBe(printLogprob(Math.fround(-0.1)));
  });
});
