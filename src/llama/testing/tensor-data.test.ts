import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { encodeTensor, float16Bits, SeededValues } from "./tensor-data.ts";

/** What a float16 stands for, by its definition. */
function float16Value(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 31) return sign * Number.POSITIVE_INFINITY;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  return sign * (1024 + fraction) * 2 ** (exponent - 25);
}

describe("float16", () => {
  test("every finite number of the format keeps its bits", () => {
    const finite = Array.from({ length: 0x10000 }, (_, bits) => bits).filter(
      (bits) => ((bits >> 10) & 0x1f) !== 31,
    );
    expect(finite.map((bits) => float16Bits(float16Value(bits)))).toEqual(finite);
  });

  test("other numbers go to a nearest one", () => {
    fc.assert(
      fc.property(fc.float({ noNaN: true, min: -65000, max: 65000 }), (value) => {
        const bits = float16Bits(value);
        const distance = Math.abs(float16Value(bits) - value);
        for (const neighbour of [bits - 1, bits + 1]) {
          const other = Math.abs(float16Value(neighbour & 0xffff) - value);
          if (!Number.isNaN(other)) expect(distance).toBeLessThanOrEqual(other);
        }
      }),
    );
  });

  test("a tie goes to the even fraction, what is too large to infinity", () => {
    expect(float16Bits(1 + 2 ** -11)).toBe(0x3c00);
    expect(float16Bits(1 + 3 * 2 ** -11)).toBe(0x3c02);
    expect(float16Bits(65519)).toBe(0x7bff);
    expect(float16Bits(65520)).toBe(0x7c00);
    expect(float16Bits(-1e9)).toBe(0xfc00);
  });
});

describe("Q8_0", () => {
  test("a block is a scale and 32 steps, each value within half a step", () => {
    const random = new SeededValues(1, "block");
    const values = Float32Array.from({ length: 64 }, () => random.bell());
    const data = encodeTensor(values, "q8_0");
    const view = new DataView(data.buffer);
    expect(data).toHaveLength(2 * 34);
    values.forEach((value, index) => {
      const block = Math.floor(index / 32) * 34;
      const scale = float16Value(view.getUint16(block, true));
      const decoded = view.getInt8(block + 2 + (index % 32)) * scale;
      // The scale itself is rounded: to 2^-11 of its size, 127 times over.
      expect(Math.abs(decoded - value)).toBeLessThanOrEqual(scale * (0.5 + 127 * 2 ** -11));
    });
  });

  test("zeros stay zeros", () => {
    expect(encodeTensor(new Float32Array(32), "q8_0")).toEqual(new Uint8Array(34));
  });

  test("part of a block is refused", () => {
    expect(() => encodeTensor(new Float32Array(33), "q8_0")).toThrow(RangeError);
  });
});

describe("seeded values", () => {
  test("depend on seed and label alone", () => {
    const draw = (seed: number, label: string): number[] => {
      const random = new SeededValues(seed, label);
      return Array.from({ length: 8 }, () => random.uniform());
    };
    expect(draw(1, "a")).toEqual(draw(1, "a"));
    expect(draw(1, "a")).not.toEqual(draw(2, "a"));
    expect(draw(1, "a")).not.toEqual(draw(1, "b"));
  });

  test("have mean 0 and standard deviation 1", () => {
    const random = new SeededValues(3, "spread");
    const values = Array.from({ length: 20_000 }, () => random.bell());
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    const square = values.reduce((sum, value) => sum + value * value, 0) / values.length;
    // Five standard errors of each.
    expect(Math.abs(mean)).toBeLessThan(5 / Math.sqrt(values.length));
    expect(Math.abs(square - 1)).toBeLessThan(5 * Math.sqrt(2 / values.length));
  });
});
