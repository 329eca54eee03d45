import { expect, test } from "vitest";
import { merge } from "./merge.ts";

async function* items<T>(...values: T[]): AsyncGenerator<T> {
  for (const value of values) {
    await Promise.resolve();
    yield value;
  }
}

async function collect<T>(source: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of source) all.push(item);
  return all;
}

test("every item of every source comes once, in the order of its own source", async () => {
  const merged = await collect(merge([items("a1", "a2", "a3"), items("b1"), items<string>()]));
  expect(merged.toSorted()).toEqual(["a1", "a2", "a3", "b1"]);
  expect(merged.filter((item) => item.startsWith("a"))).toEqual(["a1", "a2", "a3"]);
});

test("no source at all ends at once", async () => {
  expect(await collect(merge([]))).toEqual([]);
});

test("an error of one source ends the others", async () => {
  const closed: string[] = [];
  async function* failing(): AsyncGenerator<string> {
    yield "first";
    throw new Error("broken");
  }
  async function* endless(): AsyncGenerator<string> {
    try {
      for (;;) {
        await Promise.resolve();
        yield "more";
      }
    } finally {
      closed.push("endless");
    }
  }
  await expect(collect(merge([failing(), endless()]))).rejects.toThrow("broken");
  await new Promise((resolve) => setImmediate(resolve));
  expect(closed).toEqual(["endless"]);
});

test("a reader that stops early ends the sources", async () => {
  let ended = false;
  async function* counting(): AsyncGenerator<number> {
    try {
      for (let count = 0; ; count++) yield count;
    } finally {
      ended = true;
    }
  }
  for await (const item of merge([counting()])) if (item === 3) break;
  await new Promise((resolve) => setImmediate(resolve));
  expect(ended).toBe(true);
});

test("a source is not asked for its next item before the reader took the last one", async () => {
  let asked = 0;
  async function* source(): AsyncGenerator<number> {
    for (;;) yield asked++;
  }
  const merged = merge([source()]);
  await merged.next();
  await new Promise((resolve) => setImmediate(resolve));
  expect(asked).toBe(1);
  await merged.return();
});
