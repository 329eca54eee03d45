import { expect, test } from "vitest";
import { CallQueue } from "./call-queue.ts";

const never = new AbortController().signal;

/** Calls that end when they are told to, and the order in which they began. */
function calls(queue: CallQueue) {
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const run = (name: string, signal = never) =>
    queue.run(signal, () => {
      begun.push(name);
      return new Promise<string>((resolve) => ends.set(name, () => resolve(name)));
    });
  return { begun, run, end: (name: string) => ends.get(name)?.() };
}

test("runs one call at a time, in the order in which they came", async () => {
  const { begun, run, end } = calls(new CallQueue({ waitingMax: 5 }));
  const [first, second, third] = [run("first"), run("second"), run("third")];
  expect(begun).toEqual(["first"]);
  end("first");
  expect(await first).toBe("first");
  await expect.poll(() => begun).toEqual(["first", "second"]);
  end("second");
  await second;
  await expect.poll(() => begun).toEqual(["first", "second", "third"]);
  end("third");
  await third;
});

test("goes on after a call that failed", async () => {
  const queue = new CallQueue({ waitingMax: 1 });
  const failing = queue.run(never, () => Promise.reject(new Error("broken")));
  const next = queue.run(never, async () => "next");
  await expect(failing).rejects.toThrow("broken");
  expect(await next).toBe("next");
});

test("refuses a call when too many wait, and takes one again when one left", async () => {
  const { begun, run, end } = calls(new CallQueue({ waitingMax: 1 }));
  const leaving = new AbortController();
  const first = run("first");
  const second = run("second", leaving.signal);
  await expect(run("third")).rejects.toMatchObject({ errorName: "overloaded" });
  leaving.abort(new Error("left"));
  await expect(second).rejects.toThrow("left");
  const fourth = run("fourth");
  end("first");
  await first;
  await expect.poll(() => begun).toEqual(["first", "fourth"]);
  end("fourth");
  expect(await fourth).toBe("fourth");
});

test("nobody who comes at the change of turns overtakes those who wait", async () => {
  const { begun, run, end } = calls(new CallQueue({ waitingMax: 5 }));
  const first = run("first");
  const second = run("second");
  const late = first.then(() => run("late"));
  end("first");
  await expect.poll(() => begun).toEqual(["first", "second"]);
  end("second");
  await second;
  await expect.poll(() => begun).toEqual(["first", "second", "late"]);
  end("late");
  expect(await late).toBe("late");
});

test("does not begin a call whose signal came before", async () => {
  const queue = new CallQueue({ waitingMax: 5 });
  await expect(
    queue.run(AbortSignal.abort(new Error("before")), async () => "began"),
  ).rejects.toThrow("before");
});
