import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { chunkRows, RowBudget, scoredRowsMax } from "./prompt-rows.ts";

describe("a chunk", () => {
  test("takes what is wanted and leaves no lone row, whatever remains", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 2, max: 500 }),
        fc.integer({ min: 2, max: 200 }),
        (all, wanted) => {
          let remaining = all;
          while (remaining > 0) {
            const rows = chunkRows(remaining, wanted);
            expect(rows).toBeGreaterThanOrEqual(2);
            expect(rows).toBeLessThanOrEqual(Math.max(wanted, 3));
            remaining -= rows;
          }
          expect(remaining).toBe(0);
        },
      ),
    );
  });

  test("is one of several of about the same size", () => {
    expect(chunkRows(128, 110)).toBe(64);
    expect(chunkRows(64, 110)).toBe(64);
    expect(chunkRows(900, 110)).toBe(110);
    expect(chunkRows(300, 256)).toBe(160);
  });

  test("of a prompt of one token is that token", () => {
    expect(chunkRows(1, 32)).toBe(1);
  });
});

describe("the budget", () => {
  test("fits the aim by what rows cost, scored ones on their own account", () => {
    const budget = new RowBudget(512);
    budget.record("plain", 100, 100);
    budget.record("scored", 100, 400);
    expect(budget.rows("plain", 100)).toBe(100);
    expect(budget.rows("plain", 250)).toBe(250);
    expect(budget.rows("scored", 100)).toBe(25);
  });

  test("has limits above and below", () => {
    const budget = new RowBudget(512);
    budget.record("plain", 100, 1);
    budget.record("scored", 100, 1);
    expect(budget.rows("plain", 100)).toBe(511);
    expect(budget.rows("scored", 100)).toBe(scoredRowsMax);
    budget.record("plain", 100, 1e9);
    expect(budget.rows("plain", 100)).toBe(16);
  });

  test("does not take the fixed cost of a small chunk for the price of its rows", () => {
    const budget = new RowBudget(512);
    budget.record("plain", 100, 100);
    budget.record("plain", 2, 500);
    expect(budget.rows("plain", 100)).toBe(100);
  });

  test("starts small while nothing is known", () => {
    expect(new RowBudget(512).rows("plain", 100)).toBe(32);
  });
});
