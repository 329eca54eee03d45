import { expect, test } from "vitest";
import { learnMerges } from "./piece-training.ts";

const letters = (words: string): string[][] => words.split(" ").map((word) => [...word]);

test("the most frequent pair is joined first, then pairs of what it made", () => {
  // th: 3 times; then the + e (the, then): 2.
  expect(learnMerges(letters("the then that"), 2)).toEqual([
    ["t", "h"],
    ["th", "e"],
  ]);
});

test("of equally frequent pairs the one that sorts first is joined", () => {
  expect(learnMerges(letters("xy xy ab ab"), 1)).toEqual([["a", "b"]]);
});

test("learning ends when no pair occurs twice", () => {
  expect(learnMerges(letters("ab ab cd"), 10)).toEqual([["a", "b"]]);
});
