import { expect, test } from "vitest";
import { DatabaseAccess } from "./database-access.ts";
import type { SettleInput } from "./operations/settle.ts";
import { type Store, StoreError } from "./store.ts";
import { AccessBench, refusal } from "./testing/access-bench.ts";

/** A store that answers with `admit` to who wants in, and writes down what is settled. */
function setUp(admit: () => unknown) {
  const settled: string[] = [];
  const store = {
    run: async (name: string, input: unknown) => {
      if (name === "admit") return admit();
      const { completionId, settlement } = input as SettleInput;
      settled.push(`${completionId} ${settlement.outcome} ${settlement.completionTokens}`);
      return "settled";
    },
    state: () => ({ pendingWrites: 0, lagMs: 0, writable: true }),
    close: async () => undefined,
  } as unknown as Store;
  const stop = async () => undefined;
  const access = new DatabaseAccess({ store, instance: "test", configuredKeys: [], stop });
  const bench = new AccessBench({ database: undefined, dataFolder: "/nowhere" });
  const principal = { keyId: undefined, name: "", owner: "", models: undefined };
  return { access, settled, demand: bench.demand(principal) };
}

test("a row that may have been written although the answer got lost is closed again", async () => {
  const { access, settled, demand } = setUp(() => {
    throw new StoreError("unavailable", "The connection dropped.", { maybeDone: true });
  });
  expect(await refusal(access.reserve(demand))).toMatchObject({ name: "overloaded" });
  expect(access.health().pendingWrites).toBe(1);
  await access.backlog.retry();
  expect(settled).toEqual([`${demand.completionId} failed 0`]);
  expect(access.health().pendingWrites).toBe(0);
});

test("what was surely not written leaves nothing behind", async () => {
  const { access, demand } = setUp(() => {
    throw new StoreError("unavailable", "The disk is full.");
  });
  expect(await refusal(access.reserve(demand))).toMatchObject({ name: "overloaded" });
  expect(access.health().pendingWrites).toBe(0);
});

test("too much that waits is overloaded, and a fault of our own is told as it is", async () => {
  const busy = setUp(() => {
    throw new StoreError("busy", "Too many wait.");
  });
  expect(await refusal(busy.access.reserve(busy.demand))).toMatchObject({ name: "overloaded" });
  const twice = setUp(() => {
    throw new StoreError("invalid", "There is such a completion already.");
  });
  await expect(twice.access.reserve(twice.demand)).rejects.toThrow("such a completion");
});
