import { expect, test } from "vitest";
import { durationText } from "./duration-text.ts";
import { storedText, storedTextMax, storedUser } from "./stored-text.ts";

test.each([
  [0, "0ms"],
  [19.2, "20ms"],
  [999, "999ms"],
  [1000, "1s"],
  [1420, "1.42s"],
  [59_999, "59.999s"],
  [60_000, "1m0s"],
  [360_000, "6m0s"],
  [360_001, "6m1s"],
  [3_600_000, "1h0m0s"],
  [90_061_000, "25h1m1s"],
])("%d milliseconds are written %s", (milliseconds, text) => {
  expect(durationText(milliseconds)).toBe(text);
});

test("a text that can be stored is stored as it is", () => {
  for (const text of [
    "",
    "ann",
    "a'; drop table keys; --",
    "\u{1f600}",
    "x".repeat(storedTextMax),
  ]) {
    expect(storedText(text)).toBe(text);
  }
});

test("long texts that begin alike stay different, and are no longer than allowed", () => {
  const [one, two] = [`${"x".repeat(300)}1`, `${"x".repeat(300)}2`].map(storedText);
  expect(one).not.toBe(two);
  expect(one?.length).toBe(storedTextMax);
  expect(storedText(`${"x".repeat(300)}1`)).toBe(one);
});

test("texts that no database takes are made well-formed, and stay different", () => {
  const odd = [
    "a\0b",
    "a\ufffdb",
    "\ud800",
    "\udc00",
    `${"y".repeat(238)}\u{1f600}${"y".repeat(99)}`,
  ];
  const stored = odd.map(storedText);
  expect(new Set(stored).size).toBe(odd.length);
  for (const text of stored)
    expect([text.isWellFormed(), text.includes("\0")]).toEqual([true, false]);
});

test("no user and an empty one are the same", () => {
  expect([storedUser(undefined), storedUser(""), storedUser("u")]).toEqual([null, null, "u"]);
});
