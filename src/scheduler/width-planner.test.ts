import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { WidthPlanner } from "./width-planner.ts";

function plannerOf(costsMs: Record<number, number>, widthMax = 8): WidthPlanner {
  const planner = new WidthPlanner(widthMax);
  for (const [width, costMs] of Object.entries(costsMs)) planner.record(Number(width), costMs);
  return planner;
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

describe("the cheapest partition", () => {
  test("one after the other where together is dearer", () => {
    const planner = plannerOf({ 1: 8, 2: 31, 4: 44, 8: 55 });
    expect(planner.partition(2)).toEqual([1, 1]);
    expect(planner.partition(4)).toEqual([1, 1, 1, 1]);
    expect(planner.partition(8)).toEqual([8]);
  });

  test("all together where width costs little", () => {
    const planner = plannerOf({ 1: 10, 8: 17 });
    for (let count = 1; count <= 8; count++) expect(planner.partition(count)).toEqual([count]);
  });

  test("is as cheap as the best found by trying all", () => {
    const costs = fc.array(fc.integer({ min: 1, max: 100 }), { minLength: 6, maxLength: 6 });
    fc.assert(
      fc.property(costs, fc.integer({ min: 1, max: 6 }), (list, count) => {
        const planner = plannerOf(Object.fromEntries(list.map((cost, i) => [i + 1, cost])), 6);
        const cheapest = (rest: number): number => {
          if (rest === 0) return 0;
          const first = (width: number) => (list[width - 1] as number) + cheapest(rest - width);
          return Math.min(...Array.from({ length: rest }, (_, i) => first(i + 1)));
        };
        const widths = planner.partition(count);
        expect(sum(widths)).toBe(count);
        expect(sum(widths.map((width) => list[width - 1] as number))).toBe(cheapest(count));
      }),
    );
  });

  test("no call is wider than the limit", () => {
    const planner = plannerOf({ 1: 1, 4: 2 }, 4);
    expect(planner.partition(10)).toEqual([4, 4, 2]);
  });

  test("without a measurement all go together", () => {
    expect(new WidthPlanner(8).partition(5)).toEqual([5]);
  });
});

test("costs between measured widths are interpolated", () => {
  const planner = plannerOf({ 2: 10, 6: 30 });
  expect(planner.costMs(4)).toBe(20);
  expect(planner.costMs(1)).toBe(10);
  expect(planner.costMs(8)).toBe(40);
});

test("the fastest measurement of a width counts", () => {
  const planner = plannerOf({ 1: 10, 2: 15 });
  planner.record(2, 40);
  expect(planner.costMs(2)).toBe(15);
});
