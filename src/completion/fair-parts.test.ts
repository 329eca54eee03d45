import { expect, test } from "vitest";
import type { Choice } from "../contract/responses.ts";
import { partWeight, roomFor } from "./fair-parts.ts";

/** A part with so many entries, each with nine alternatives: ten numbers and a name. */
function part(entries: number): Choice {
  const top = Array.from({ length: 9 }, (_, index): [string, number] => [`t${index}`, -1]);
  const fill = <T>(value: T): T[] => Array.from({ length: entries }, () => value);
  const logprobs = {
    ...{ tokens: fill("t0"), token_logprobs: fill(-1), text_offset: fill(0) },
    top_logprobs: fill(top),
  };
  return { text: "", index: 0, logprobs, finish_reason: null };
}

const text: Choice = { text: "some text", index: 0, logprobs: null, finish_reason: null };

const turn = () => new Promise((resolve) => setImmediate(resolve));

test("the weight counts names and values", () => {
  expect(partWeight(text)).toBe(1);
  expect(partWeight(part(100))).toBe(1001);
});

test("parts with many logprobs take turns, in the order in which they came", async () => {
  await turn();
  const entered: number[] = [];
  for (let index = 0; index < 30; index += 1) {
    void roomFor(part(300)).then(() => entered.push(index));
  }
  const counts: number[] = [];
  while (entered.length < 30) {
    await turn();
    counts.push(entered.length);
  }
  expect(entered).toEqual([...entered].sort((left, right) => left - right));
  // Three of 3,001 fit into a turn of 10,000.
  const each = counts.slice(1).map((count, index) => count - (counts[index] as number));
  expect(Math.max(...each)).toBe(3);
});

test("a part that is larger than a turn has one for itself", async () => {
  await turn();
  const ended: string[] = [];
  void roomFor(part(5_000)).then(() => ended.push("large"));
  void roomFor(part(5_000)).then(() => ended.push("other"));
  await Promise.resolve();
  await Promise.resolve();
  expect(ended).toEqual(["large"]);
  while (ended.length < 2) await turn();
});

test("texts without logprobs do not wait for each other", async () => {
  await turn();
  let others = 0;
  setImmediate(() => {
    others += 1;
  });
  for (let index = 0; index < 1_000; index += 1) await roomFor(text);
  expect(others).toBe(0);
});
