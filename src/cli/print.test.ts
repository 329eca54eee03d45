import { PassThrough, Writable } from "node:stream";
import { expect, test } from "vitest";
import { print } from "./print.ts";

async function* many(count: number, made: { count: number }): AsyncGenerator<string> {
  for (; made.count < count; made.count += 1) yield `${"x".repeat(99)}\n`;
}

test("texts come out in order, whole", async () => {
  const output = new PassThrough();
  const read = Array.fromAsync(output.setEncoding("utf8"));
  expect(await print(["a\n", "b\n"], output)).toBe(true);
  output.end();
  expect((await read).join("")).toBe("a\nb\n");
});

test("what is slow to read is not read ahead", async () => {
  const written: (() => void)[] = [];
  const output = new Writable({
    highWaterMark: 1,
    write: (_chunk, _encoding, done) => {
      written.push(done);
    },
  });
  const made = { count: 0 };
  const printing = print(many(1_000_000, made), output);
  await expect.poll(() => written.length).toBe(1);
  expect(made.count).toBeLessThan(1000);
  output.destroy(Object.assign(new Error("closed"), { code: "EPIPE" }));
  written[0]?.();
  expect(await printing).toBe(false);
});

test("a reader who leaves ends it quietly, also what is written later", async () => {
  const error = Object.assign(new Error("write EPIPE"), { code: "EPIPE" });
  const output = new Writable({ write: (_chunk, _encoding, done) => done(error) });
  const made = { count: 0 };
  expect(await print(many(1_000_000, made), output)).toBe(false);
  expect(made.count).toBeLessThan(1000);
  output.emit("error", error);
});

test("an output that takes nothing is a failure in one line", async () => {
  const error = Object.assign(new Error("no space left on device"), { code: "ENOSPC" });
  const output = new Writable({ write: (_chunk, _encoding, done) => done(error) });
  await expect(print(["a"], output)).rejects.toThrow(
    "the output cannot be written: no space left on device",
  );
});
