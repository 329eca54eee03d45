import { describe, expect, test } from "vitest";
import { SequenceCache } from "./sequence-cache.ts";
import type { Slot } from "./slot.ts";
import { FakeBackend } from "./testing/fake-backend.ts";

const newCache = (sequences: number) =>
  new SequenceCache({
    backend: new FakeBackend({ sequences, contextLength: 64 }),
    rules: { rowsMin: 1, cutsAnywhere: true },
    reuseGenerated: false,
    bytesPerToken: 1,
    idleBytesMax: 1e9,
  });

/** Takes a slot and lets it hold a prompt of its own. */
function takeAndRead(cache: SequenceCache, tokens: readonly number[]): Slot {
  const slot = cache.take("") as Slot;
  const rows = tokens.map((token, position) => ({
    token,
    position,
    sequence: slot.id,
    logits: false,
  }));
  cache.decode(rows);
  slot.promptLength = tokens.length;
  return slot;
}

const takeAll = (cache: SequenceCache) =>
  cache.slots.map((_, index) => takeAndRead(cache, [100 + index, 1]));

describe("which slot a new prompt gets", () => {
  test("empty ones are filled from the first on", () => {
    const cache = newCache(4);
    expect([0, 1, 2].map(() => (cache.take("") as Slot).id)).toEqual([0, 1, 2]);
  });

  test("of the empty ones, one beside a busy one", () => {
    const cache = newCache(6);
    const slots = [0, 1, 2, 3, 4].map(() => cache.take("") as Slot);
    for (const index of [0, 1, 2, 4]) cache.release(slots[index] as Slot); // they hold nothing
    expect(cache.take("")?.id).toBe(2);
  });

  test("when all hold a prompt, a densely lying one of the longest unused half", () => {
    const cache = newCache(6);
    const slots = takeAll(cache);
    for (const index of [5, 0, 2, 1, 4]) cache.release(slots[index] as Slot);
    // 3 is busy; the older half of the idle ones is 5, 0 and 2.
    expect(cache.take("")?.id).toBe(2);
  });

  test("what was used last is not given away for density", () => {
    const cache = newCache(4);
    const slots = takeAll(cache);
    for (const index of [3, 0, 2]) cache.release(slots[index] as Slot);
    // 1 is busy, 2 lies beside it but was used last; the older half is 3 and 0.
    expect(cache.take("")?.id).toBe(0);
  });
});
