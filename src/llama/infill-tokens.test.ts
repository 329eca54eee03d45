import { expect, test } from "vitest";
import { findInfillTokens } from "./infill-tokens.ts";

const named =
  (...names: string[]) =>
  (name: string) => {
    const index = names.indexOf(name);
    return index < 0 ? undefined : index;
  };

test("markers of each family are found by name", () => {
  for (const names of [
    ["<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"],
    ["<fim_prefix>", "<fim_suffix>", "<fim_middle>"],
    ["▁<PRE>", "▁<SUF>", "▁<MID>"],
    ["[PREFIX]", "[SUFFIX]", "[MIDDLE]"],
  ]) {
    expect(findInfillTokens(named(...names))).toEqual({ prefix: 0, suffix: 1, middle: 2 });
  }
});

test("DeepSeek's hole stands where the suffix begins", () => {
  const tokens = named("<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>");
  expect(findInfillTokens(tokens)).toEqual({ prefix: 0, suffix: 1, middle: 2 });
});

test("two of three markers, or a mix of families, are none", () => {
  expect(findInfillTokens(named("<fim_prefix>", "<fim_suffix>"))).toBeUndefined();
  expect(findInfillTokens(named("<fim_prefix>", "<SUF>", "<|fim_middle|>"))).toBeUndefined();
});
