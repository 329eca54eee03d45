import { existsSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type LockTimes, withFileLock } from "./file-lock.ts";
import { temporaryFolder } from "./testing/temporary-folder.ts";

const times: LockTimes = { beatMs: 5, silenceMsMax: 60_000, pollMs: 5 };
/** Above every process id that Linux, macOS and Windows give out. */
const noPid = 2 ** 31 - 2;

function options(parts: { onWait?: () => void; signal?: AbortSignal } = {}) {
  return {
    signal: parts.signal ?? new AbortController().signal,
    onWait: parts.onWait ?? (() => undefined),
    times,
  };
}

test("one at a time: the second begins when the first has ended", async () => {
  const path = join(temporaryFolder(), "lock");
  const order: string[] = [];
  const gate = Promise.withResolvers<void>();
  const inside = Promise.withResolvers<void>();
  const waiting = Promise.withResolvers<void>();
  const first = withFileLock(path, options(), async () => {
    order.push("first begins");
    inside.resolve();
    await gate.promise;
    order.push("first ends");
  });
  await inside.promise;
  const second = withFileLock(path, options({ onWait: waiting.resolve }), async () => {
    order.push("second begins");
  });
  await waiting.promise;
  gate.resolve();
  await Promise.all([first, second]);
  expect(order).toEqual(["first begins", "first ends", "second begins"]);
  expect(existsSync(path)).toBe(false);
});

test("many at once never overlap", async () => {
  const path = join(temporaryFolder(), "lock");
  let inside = 0;
  const work = async () => {
    inside += 1;
    expect(inside).toBe(1);
    await new Promise((resolve) => setImmediate(resolve));
    inside -= 1;
  };
  await Promise.all(Array.from({ length: 12 }, () => withFileLock(path, options(), work)));
  expect(existsSync(path)).toBe(false);
});

test("the result is passed on, and the lock is gone after a failure too", async () => {
  const path = join(temporaryFolder(), "lock");
  expect(await withFileLock(path, options(), async () => 7)).toBe(7);
  const failure = withFileLock(path, options(), async () => {
    throw new Error("failed");
  });
  await expect(failure).rejects.toThrow("failed");
  expect(existsSync(path)).toBe(false);
});

test("the lock of a process that is no more is taken over", async () => {
  const path = join(temporaryFolder(), "lock");
  writeFileSync(path, JSON.stringify({ pid: noPid, host: hostname(), id: "x" }));
  expect(await withFileLock(path, options(), async () => "done")).toBe("done");
});

test("a lock that fell silent is taken over, whoever holds it", async () => {
  const path = join(temporaryFolder(), "lock");
  writeFileSync(path, JSON.stringify({ pid: 1, host: "another machine", id: "x" }));
  const past = new Date(Date.now() - 2 * times.silenceMsMax);
  utimesSync(path, past, past);
  expect(await withFileLock(path, options(), async () => "done")).toBe("done");
});

test("a fresh lock of another machine is respected, and waiting can be ended", async () => {
  const path = join(temporaryFolder(), "lock");
  const owner = JSON.stringify({ pid: noPid, host: "another machine", id: "x" });
  writeFileSync(path, owner);
  const controller = new AbortController();
  const onWait = () => setImmediate(() => controller.abort());
  const waiting = withFileLock(path, options({ signal: controller.signal, onWait }), async () => {
    throw new Error("must not run");
  });
  await expect(waiting).rejects.toThrow(/abort/i);
  expect(readFileSync(path, "utf8")).toBe(owner);
});
