import { expect, test } from "vitest";
import { exponential, exponentMin } from "./exponential.ts";

test("the relative error against Math.exp stays below 1e-14 over the whole range", () => {
  let largest = 0;
  const count = 200_003;
  for (let index = 0; index <= count; index += 1) {
    const x = (exponentMin * index) / count;
    largest = Math.max(largest, Math.abs(exponential(x) / Math.exp(x) - 1));
  }
  expect(largest).toBeLessThan(1e-14);
});

test("the exponential of 0 is exactly 1", () => {
  expect(exponential(0)).toBe(1);
});
