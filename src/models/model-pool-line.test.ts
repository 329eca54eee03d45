import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { turnMs } from "./model-pool.ts";
import { type FakePool, fakePool } from "./testing/fake-pool.ts";

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

const never = new AbortController().signal;

/** Three models of 40 bytes; two fit. */
const three = () => fakePool({ sizes: { a: 40, b: 40, c: 40 }, bytesMax: 100 });

const acquire = (pool: FakePool, id: string, signal = never) => pool.model(id).acquire(signal);

/** Whether the promise is settled, once all that can go on has gone on. */
async function settled(promise: Promise<unknown>): Promise<boolean> {
  let done = false;
  const mark = () => {
    done = true;
  };
  promise.then(mark, mark);
  await vi.advanceTimersByTimeAsync(0);
  return done;
}

describe("fairness", () => {
  test("a model in use takes nobody new once another has waited a turn for its room", async () => {
    const pool = fakePool({ sizes: { a: 60, b: 60 }, bytesMax: 100 });
    const first = await acquire(pool, "a");
    const other = acquire(pool, "b");
    await vi.advanceTimersByTimeAsync(turnMs - 1);
    const second = await acquire(pool, "a");
    await vi.advanceTimersByTimeAsync(1);
    const third = acquire(pool, "a");
    expect(await settled(third)).toBe(false);
    first.release();
    expect(await settled(other)).toBe(false);
    second.release();
    (await other).release();
    await third;
    expect(pool.events).toEqual(["+a", "-a", "+b", "-b", "+a"]);
  });

  test("two models under constant load take turns of at least that length", async () => {
    const pool = fakePool({ sizes: { a: 60, b: 60 }, bytesMax: 100 });
    const served = { a: 0, b: 0 };
    const stop = new AbortController();
    const client = async (id: "a" | "b") => {
      while (!stop.signal.aborted) {
        const lease = await acquire(pool, id, stop.signal);
        await new Promise((resolve) => setTimeout(resolve, 300));
        lease.release();
        served[id] += 1;
      }
    };
    const clients = ["a", "a", "a", "b", "b", "b"].map((id) => client(id as "a" | "b"));
    for (const work of clients) work.catch(() => undefined);
    await vi.advanceTimersByTimeAsync(20 * turnMs);
    stop.abort();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(served.a).toBeGreaterThan(20);
    expect(served.b).toBeGreaterThan(20);
    const loads = pool.events.filter((event) => event.startsWith("+")).length;
    expect(loads).toBeGreaterThan(5);
    expect(loads).toBeLessThanOrEqual(20 + 1);
  });

  test("a model that was about to leave goes on when nobody waits for its room any more", async () => {
    const pool = fakePool({ sizes: { a: 60, b: 60 }, bytesMax: 100 });
    const lease = await acquire(pool, "a");
    const leaver = new AbortController();
    const other = acquire(pool, "b", leaver.signal);
    other.catch(() => undefined);
    await vi.advanceTimersByTimeAsync(turnMs);
    const waiting = acquire(pool, "a");
    expect(await settled(waiting)).toBe(false);
    leaver.abort();
    (await waiting).release();
    lease.release();
    expect(pool.events).toEqual(["+a"]);
  });
});

describe("waiting", () => {
  test("ends with the signal's reason, and gives up the place in line", async () => {
    const pool = fakePool({ sizes: { a: 60, b: 60, c: 30 }, bytesMax: 100 });
    const lease = await acquire(pool, "a");
    const leaver = new AbortController();
    const leaving = acquire(pool, "b", leaver.signal);
    const next = acquire(pool, "c");
    expect(await settled(next)).toBe(false);
    leaver.abort(new Error("left"));
    await expect(leaving).rejects.toThrow("left");
    await next;
    lease.release();
    expect(pool.events).toEqual(["+a", "+c"]);
  });

  test("is refused when too many wait already", async () => {
    const pool = fakePool({ sizes: { a: 60, b: 60 }, bytesMax: 100, waitingMax: 1 });
    await acquire(pool, "a");
    const waiting = acquire(pool, "b");
    await expect(acquire(pool, "b")).rejects.toMatchObject({ errorName: "overloaded" });
    expect(await settled(waiting)).toBe(false);
    await acquire(pool, "a");
    waiting.catch(() => undefined);
    await pool.pool.close();
  });

  test("never begins for a signal that was aborted before", async () => {
    const pool = three();
    await expect(acquire(pool, "a", AbortSignal.abort(new Error("left")))).rejects.toThrow("left");
    expect(pool.events).toEqual([]);
  });
});
