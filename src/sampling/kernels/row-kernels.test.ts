import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compileKernels, target } from "../../../scripts/build-kernels.ts";
import { RowKernels, weightMin } from "./row-kernels.ts";

const kernels = new RowKernels();
const logit = fc.oneof(
  fc.float({ min: -60, max: 60, noNaN: true }),
  fc.constantFrom(Number.NEGATIVE_INFINITY, Number.NaN, 0, -0),
);
const row = fc
  .tuple(fc.array(logit, { maxLength: 40 }), fc.float({ min: -60, max: 60, noNaN: true }))
  .map(([values, last]) => Float32Array.from([...values, last]));

const numbers = (values: Float32Array) => [...values].filter((value) => !Number.isNaN(value));

test("the committed binary is what the source compiles to", async () => {
  expect(await compileKernels()).toBe(readFileSync(target, "utf8"));
});

describe("against plain JavaScript", () => {
  test("maximum and argmax", () => {
    fc.assert(
      fc.property(row, (values) => {
        kernels.load(values);
        const max = Math.max(...numbers(values));
        expect(kernels.maximum()).toBe(max === 0 ? kernels.maximum() : max);
        expect(kernels.argmax()).toBe(values.indexOf(max));
      }),
    );
  });

  test("the first logit at least, or above, a limit", () => {
    fc.assert(
      fc.property(row, logit, fc.nat(45), (values, limit, from) => {
        fc.pre(!Number.isNaN(limit));
        kernels.load(values);
        const first = (matches: (value: number) => boolean) => {
          const found = values.findIndex((value, index) => index >= from && matches(value));
          return found === -1 ? Math.max(values.length, Math.min(from, values.length)) : found;
        };
        expect(kernels.firstAtLeast(limit, from)).toBe(first((value) => value >= limit));
        expect(kernels.firstAbove(limit, from)).toBe(first((value) => value > limit));
      }),
    );
  });

  test("sums of exponentials within 3e-7", () => {
    fc.assert(
      fc.property(row, (values) => {
        kernels.load(values);
        const max = Math.max(...numbers(values));
        const sum = numbers(values).reduce((total, value) => total + Math.exp(value - max), 0);
        expect(Math.abs(kernels.sumOfExponentials(max) / sum - 1)).toBeLessThan(3e-7);
      }),
    );
  });

  test("weights within 1e-5 where they matter, and their selection", () => {
    const scale = fc.double({ min: 0.1, max: 10, noNaN: true });
    fc.assert(
      fc.property(
        row,
        scale,
        fc.float({ min: Math.fround(1e-12), max: 1, noNaN: true }),
        (values, by, limit) => {
          kernels.load(values);
          const max = kernels.maximum();
          const total = kernels.weigh(max, by);
          for (const [index, value] of values.entries()) {
            const weight = Number.isNaN(value) ? 0 : Math.exp((value - max) * by);
            const actual = kernels.weights[index] as number;
            if (weight > 1e-18) expect(Math.abs(actual / weight - 1)).toBeLessThan(1e-5);
            else expect(actual).toBeLessThan(1e-17);
          }
          const sum = kernels.weights.reduce((left, right) => left + right, 0);
          expect(Math.abs(total / sum - 1)).toBeLessThan(1e-5);
          const selected = [...kernels.weights.keys()].filter(
            (index) => (kernels.weights[index] as number) >= limit,
          );
          expect([...kernels.select(limit)]).toEqual(selected);
        },
      ),
    );
  });
});

test("weights of the row as it is sum to the same bits as the sum alone", () => {
  fc.assert(
    fc.property(row, (values) => {
      kernels.load(values);
      const max = kernels.maximum();
      fc.pre(Number.isFinite(max));
      expect(kernels.weigh(max, 1)).toBe(kernels.sumOfExponentials(max));
    }),
  );
});

test("the mass that is wanted is reached among the weights between the bounds", () => {
  fc.assert(
    fc.property(row, fc.double({ min: 0.01, max: 0.999, noNaN: true }), (values, share) => {
      kernels.load(values);
      const max = kernels.maximum();
      fc.pre(Number.isFinite(max));
      const total = kernels.weigh(max, 1);
      const reach = kernels.reach(share * total);
      if (reach === undefined) throw new Error("the whole row reaches every share");
      const weights = [...kernels.weights].filter((weight) => weight >= weightMin);
      const sum = (list: number[]) => list.reduce((left, right) => left + right, 0);
      const above = sum(weights.filter((weight) => weight >= reach.upper));
      const inside = sum(weights.filter((weight) => weight >= reach.lower)) - above;
      expect(reach.before).toBeCloseTo(above, 9);
      expect(above).toBeLessThan(share * total);
      expect(above + inside).toBeGreaterThanOrEqual(share * total * (1 - 1e-9));
    }),
  );
});

test("a draw is where the running sum of the weights above the cut exceeds the target", () => {
  fc.assert(
    fc.property(
      row,
      fc.nat(40),
      fc.nat(3),
      fc.double({ min: 0, max: 1 }),
      (values, at, ties, u) => {
        kernels.load(values);
        const max = kernels.maximum();
        fc.pre(Number.isFinite(max));
        kernels.weigh(max, 1);
        const cut = values[at % values.length] as number;
        fc.pre(!Number.isNaN(cut));
        let left = ties;
        const kept = [...values.keys()].filter((id) => {
          const value = values[id] as number;
          if (!((kernels.weights[id] as number) >= weightMin)) return false;
          return value > cut || (value === cut && left-- > 0);
        });
        const target = u * kept.reduce((sum, id) => sum + (kernels.weights[id] as number), 0);
        let sum = 0;
        const drawn = kept.find((id) => {
          sum += kernels.weights[id] as number;
          return sum > target;
        });
        expect(kernels.draw(target, cut, ties)).toBe(drawn ?? kept.at(-1) ?? -1);
      },
    ),
  );
});

test("a row of another length does not see the one before", () => {
  kernels.load(Float32Array.from({ length: 41 }, () => 50));
  kernels.load(Float32Array.of(1, 2, 3));
  expect(kernels.maximum()).toBe(3);
  kernels.load(Float32Array.from({ length: 300_000 }, (_, index) => -index));
  expect(kernels.argmax()).toBe(0);
  kernels.load(Float32Array.of(1, 2, 3));
  expect(kernels.sumOfExponentials(3)).toBeCloseTo(1 + Math.exp(-1) + Math.exp(-2), 6);
});
