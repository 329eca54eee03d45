import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { ApiError } from "../contract/errors.ts";
import { retryMs } from "./pooled-model.ts";
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

async function use(pool: FakePool, id: string): Promise<void> {
  (await acquire(pool, id)).release();
}

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

describe("loading", () => {
  test("happens on first use, once, for all who wait", async () => {
    const pool = three();
    expect(pool.events).toEqual([]);
    const leases = await Promise.all([acquire(pool, "a"), acquire(pool, "a"), acquire(pool, "a")]);
    expect(pool.events).toEqual(["+a"]);
    expect(new Set(leases.map(({ engine }) => engine)).size).toBe(1);
    expect(pool.model("a").leases).toBe(3);
    for (const lease of leases) lease.release();
    for (const lease of leases) lease.release();
    expect(pool.model("a").leases).toBe(0);
  });

  test("of two models that fit goes on at the same time", async () => {
    const pool = three();
    const gate = Promise.withResolvers<void>();
    pool.hold("a", gate.promise);
    const first = acquire(pool, "a");
    await use(pool, "b");
    expect(await settled(first)).toBe(false);
    gate.resolve();
    await first;
    expect(pool.events).toEqual(["+b", "+a"]);
  });

  test("tells the context length that the engine has; before that, what was expected", async () => {
    const pool = three();
    expect(pool.model("a").contextLength).toBe(4096);
    await use(pool, "a");
    expect(pool.model("a").contextLength).toBe(512);
    await use(pool, "b");
    await use(pool, "c");
    expect(pool.model("a")).toMatchObject({ state: "unloaded", contextLength: 512 });
  });
});

describe("making room", () => {
  test("unloads the model not used for longest", async () => {
    const pool = three();
    await use(pool, "a");
    await use(pool, "b");
    await use(pool, "a");
    await use(pool, "c");
    expect(pool.events).toEqual(["+a", "+b", "-b", "+c"]);
  });

  test("unloads several when one is not enough, and no more than it needs", async () => {
    const sizes = { a: 30, b: 30, c: 30, d: 50 };
    const pool = fakePool({ sizes, bytesMax: 100 });
    for (const id of ["a", "b", "c", "d"]) await use(pool, id);
    expect(pool.events).toEqual(["+a", "+b", "+c", "-a", "-b", "+d"]);
  });

  test("never unloads a model in use, however long ago it was asked for", async () => {
    const pool = three();
    const lease = await acquire(pool, "a");
    await use(pool, "b");
    await use(pool, "c");
    expect(pool.events).toEqual(["+a", "+b", "-b", "+c"]);
    lease.release();
  });

  test("waits when all models are in use, until one is not", async () => {
    const pool = three();
    const [a, b] = [await acquire(pool, "a"), await acquire(pool, "b")];
    const waiting = acquire(pool, "c");
    expect(await settled(waiting)).toBe(false);
    b.release();
    await waiting;
    expect(pool.events).toEqual(["+a", "+b", "-b", "+c"]);
    a.release();
  });

  test("serves those who wait in their order, even when a later one would fit sooner", async () => {
    const pool = fakePool({ sizes: { a: 60, small: 20, large: 90 }, bytesMax: 100 });
    const a = await acquire(pool, "a");
    const large = acquire(pool, "large");
    const small = acquire(pool, "small");
    expect(await settled(small)).toBe(false);
    a.release();
    (await large).release();
    await small;
    expect(pool.events).toEqual(["+a", "-a", "+large", "-large", "+small"]);
  });

  test("goes by measured memory where that is more than the estimate", async () => {
    const pool = three();
    await use(pool, "a");
    const engine = pool.engines.get("a");
    if (engine !== undefined) engine.residentBytes = 70;
    await use(pool, "b");
    expect(pool.events).toEqual(["+a", "-a", "+b"]);
  });

  test("unloads an idle model when loaded ones have grown beyond the limit", async () => {
    const pool = three();
    await use(pool, "a");
    const lease = await acquire(pool, "b");
    const engine = pool.engines.get("b");
    if (engine !== undefined) engine.residentBytes = 80;
    lease.release();
    await vi.advanceTimersByTimeAsync(0);
    expect(pool.events).toEqual(["+a", "+b", "-a"]);
  });

  test("a model that grew beyond the limit is loaded again, alone", async () => {
    const pool = three();
    await use(pool, "a");
    const engine = pool.engines.get("a");
    if (engine !== undefined) engine.residentBytes = 200;
    await use(pool, "b");
    await use(pool, "a");
    expect(pool.events).toEqual(["+a", "-a", "+b", "-b", "+a"]);
  });
});

describe("a model that is larger than the limit", () => {
  test("is refused with both sizes, and others are left alone", async () => {
    const megabyte = 1_000_000;
    const sizes = { a: 40 * megabyte, big: 400 * megabyte };
    const pool = fakePool({ sizes, bytesMax: 100 * megabyte });
    await use(pool, "a");
    const refused = await acquire(pool, "big").catch((error: unknown) => error);
    expect(refused).toMatchObject({ status: 503, errorName: "modelFailed" });
    expect(refused).toMatchObject({ retry: { shouldRetry: false } });
    expect((refused as Error).message).toMatch(/\d+ MB.*\d+ MB.*--memory/);
    expect(pool.events).toEqual(["+a"]);
  });

  test("is loaded alone when nobody set the limit", async () => {
    const pool = fakePool({ sizes: { a: 40, big: 400 }, bytesMax: 100, strict: false });
    await use(pool, "a");
    await use(pool, "big");
    await use(pool, "a");
    expect(pool.events).toEqual(["+a", "-a", "+big", "-big", "+a"]);
  });
});

describe("a load that fails", () => {
  test("is told to all who wait for it", async () => {
    const pool = three();
    pool.fail("a", "The file is damaged.");
    const results = await Promise.allSettled([acquire(pool, "a"), acquire(pool, "a")]);
    for (const result of results) {
      expect(result).toMatchObject({ status: "rejected", reason: { status: 503 } });
      const { reason } = result as PromiseRejectedResult;
      expect(reason.message).toBe("The model could not be loaded: The file is damaged.");
      expect(reason.retry).toEqual({ shouldRetry: false });
    }
    expect(pool.events).toEqual(["!a"]);
    expect(pool.model("a").status()).toMatchObject({
      state: "failed",
      reason: "The file is damaged",
    });
  });

  test("is not tried again before a pause, which doubles with each failure", async () => {
    const pool = three();
    pool.fail("a", "no");
    await expect(acquire(pool, "a")).rejects.toThrow(ApiError);
    await vi.advanceTimersByTimeAsync(retryMs.min - 1);
    await expect(acquire(pool, "a")).rejects.toThrow("The model could not be loaded: no.");
    expect(pool.events).toEqual(["!a"]);
    await vi.advanceTimersByTimeAsync(1);
    await expect(acquire(pool, "a")).rejects.toThrow(ApiError);
    expect(pool.events).toEqual(["!a", "!a"]);
    await vi.advanceTimersByTimeAsync(2 * retryMs.min - 1);
    await expect(acquire(pool, "a")).rejects.toThrow(ApiError);
    expect(pool.events).toEqual(["!a", "!a"]);
    pool.fail("a", undefined);
    await vi.advanceTimersByTimeAsync(1);
    await use(pool, "a");
    expect(pool.model("a").status()).toEqual({ state: "loaded", restarts: 0, faults: {} });
  });

  test("takes no memory, and does not keep those behind it waiting", async () => {
    const pool = fakePool({ sizes: { a: 60, b: 60 }, bytesMax: 100 });
    pool.fail("a", "no");
    const failing = acquire(pool, "a");
    const other = acquire(pool, "b");
    await expect(failing).rejects.toThrow(ApiError);
    await other;
    expect(pool.events).toEqual(["!a", "+b"]);
  });

  test("clients are not told the folder", async () => {
    const pool = fakePool({
      sizes: {},
      bytesMax: 100,
      models: [
        {
          id: "a",
          created: 1,
          insertion: { kind: "auto" },
          expected: { contextLength: 1, slots: 1 },
          hiddenFolders: ["/secret/place"],
          estimateBytes: () => 1,
          load: () => Promise.reject(new Error("The file /secret/place/a.gguf is damaged.")),
        },
      ],
    });
    await expect(acquire(pool, "a")).rejects.toThrow("The file a.gguf is damaged.");
  });
});

describe("closing", () => {
  test("ends every engine and refuses those who wait or come later", async () => {
    const pool = fakePool({ sizes: { a: 40, b: 40, c: 90 }, bytesMax: 100 });
    await acquire(pool, "a");
    await use(pool, "b");
    const waiting = acquire(pool, "c");
    waiting.catch(() => undefined);
    await vi.advanceTimersByTimeAsync(0);
    await pool.pool.close();
    await expect(waiting).rejects.toMatchObject({ errorName: "shuttingDown" });
    await expect(acquire(pool, "a")).rejects.toMatchObject({ errorName: "shuttingDown" });
    expect([...pool.engines.values()].every(({ closed }) => closed)).toBe(true);
  });

  test("ends a load that is under way", async () => {
    const pool = three();
    pool.hold("a", Promise.withResolvers<void>().promise);
    const waiting = acquire(pool, "a");
    waiting.catch(() => undefined);
    await vi.advanceTimersByTimeAsync(0);
    await pool.pool.close();
    await expect(waiting).rejects.toMatchObject({ errorName: "shuttingDown" });
    expect(pool.events).toEqual([]);
  });
});

test("what an engine counted stays when it is unloaded, and goes on with the next", async () => {
  const pool = fakePool({ sizes: { a: 60, b: 60 }, bytesMax: 100 });
  const count = (id: string, tokens: number) => {
    const engine = pool.engines.get(id);
    if (engine !== undefined) engine.generatedTokens = tokens;
  };
  await use(pool, "a");
  count("a", 7);
  const a = pool.model("a");
  expect(a.stats()).toMatchObject({ counts: { generatedTokens: 7 } });
  await use(pool, "b");
  expect(a.stats()).toMatchObject({ residentBytes: 0, slots: 2, counts: { generatedTokens: 7 } });
  await use(pool, "a");
  count("a", 2);
  expect(a.stats()).toMatchObject({ counts: { generatedTokens: 9 } });
  expect(a.counts).toMatchObject({ loads: 2, failures: 0, unloads: 1 });
});

test("an engine that gave up shows as failed, with its reason", async () => {
  const pool = three();
  await use(pool, "a");
  const engine = pool.engines.get("a");
  if (engine !== undefined) engine.failed = "it died too often";
  expect(pool.model("a").status()).toMatchObject({ state: "failed", reason: "it died too often" });
});
