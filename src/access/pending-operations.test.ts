import { expect, test } from "vitest";
import { PendingOperations, trackingOf } from "./pending-operations.ts";
import { pendingOperationsMax, StoreError } from "./store.ts";

const never = () => new Promise<never>(() => undefined);

test("only so many operations wait; settlements are always taken", async () => {
  const pending = new PendingOperations();
  for (let index = 0; index < pendingOperationsMax; index += 1) {
    void pending.track({ mode: "write", always: false, hasWritten: () => true }, never);
  }
  const refused = pending.track({ mode: "read", always: false, hasWritten: () => false }, never);
  await expect(refused).rejects.toMatchObject({ problem: "busy" });
  await expect(
    pending.track({ mode: "write", always: true, hasWritten: () => true }, async () => 1),
  ).resolves.toBe(1);
});

test("health tells how the last write went, how many wait and for how long", async () => {
  const pending = new PendingOperations();
  const write = { mode: "write", always: false, hasWritten: () => true } as const;
  expect(pending.state()).toEqual({ pendingWrites: 0, lagMs: 0, writable: true });
  const gate = Promise.withResolvers<void>();
  const waiting = pending.track(write, () => gate.promise);
  expect(pending.state().pendingWrites).toBe(1);
  const gone = async () => {
    throw new StoreError("unavailable", "gone");
  };
  await expect(pending.track(write, gone)).rejects.toThrow("gone");
  expect(pending.state().writable).toBe(false);
  const invalid = async () => {
    throw new StoreError("invalid", "twice");
  };
  gate.resolve();
  await waiting;
  expect(pending.state()).toEqual({ pendingWrites: 0, lagMs: 0, writable: true });
  await expect(
    pending.track({ mode: "read", always: false, hasWritten: () => false }, gone),
  ).rejects.toThrow("gone");
  expect(pending.state().writable).toBe(false);
  await pending.track({ mode: "read", always: false, hasWritten: () => false }, async () => 1);
  expect(pending.state().writable).toBe(false);
  await pending.track(write, async () => 1);
  // The data was at fault, so nothing is said about the database.
  await expect(pending.track(write, invalid)).rejects.toThrow("twice");
  expect(pending.state().writable).toBe(true);
});

test("what was refused has written nothing, so it tells nothing of a full disk", async () => {
  const pending = new PendingOperations();
  const admit = trackingOf("admit", "write");
  const full = async () => {
    throw new StoreError("unavailable", "full");
  };
  await expect(pending.track(admit, full)).rejects.toThrow("full");
  await pending.track(admit, async () => ({ kind: "refused" }));
  expect(pending.state().writable).toBe(false);
  await pending.track(admit, async () => ({ kind: "admitted" }));
  expect(pending.state().writable).toBe(true);
});
