import { expect, test } from "vitest";
import { EventQueue } from "./event-queue.ts";

async function rest<T>(queue: EventQueue<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of queue) items.push(item);
  return items;
}

test("items come in order, also those pushed before anyone reads", async () => {
  const queue = new EventQueue<number>();
  queue.push(1);
  queue.push(2);
  const reading = rest(queue);
  queue.push(3);
  queue.finish();
  expect(await reading).toEqual([1, 2, 3]);
});

test("a failure comes after the items that were there", async () => {
  const queue = new EventQueue<number>();
  queue.push(1);
  queue.fail(new Error("engine died"));
  expect(await queue.next()).toEqual({ done: false, value: 1 });
  await expect(queue.next()).rejects.toThrow("engine died");
});

test("a waiting reader is woken by the failure", async () => {
  const queue = new EventQueue<number>();
  const waiting = queue.next();
  queue.fail(new Error("aborted"));
  await expect(waiting).rejects.toThrow("aborted");
});

test("the first end counts and nothing comes after it", async () => {
  const queue = new EventQueue<number>();
  queue.finish();
  queue.fail(new Error("late"));
  queue.push(1);
  expect(await rest(queue)).toEqual([]);
});

test("a full queue takes nothing more; what it holds can still be read", async () => {
  const queue = new EventQueue<number>(2);
  expect([queue.push(1), queue.push(2), queue.push(3)]).toEqual([true, true, false]);
  expect(await queue.next()).toEqual({ done: false, value: 1 });
  expect(queue.push(4)).toBe(true);
  queue.finish();
  expect(await rest(queue)).toEqual([2, 4]);
});
