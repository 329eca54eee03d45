import { expect, test } from "vitest";
import { loadReleasingPages, mappingsOf } from "./file-pages.ts";

const maps = [
  "55d0c0000000-55d0c0021000 rw-p 00000000 00:00 0          [heap]",
  "7f35a4000000-7f35a5000000 r--s 00000000 fe:01 1234       /models/my model.gguf",
  "7f35a6000000-7f35a6001000 r--s 01000000 fe:01 1234       /models/my model.gguf",
  "7f35b0000000-7f35b0200000 r-xp 00000000 fe:01 99         /lib/libc.so.6",
  "7f35c0000000-7f35c0001000 rw-p 00000000 00:00 0 ",
].join("\n");

test("the places of a file are found by its whole path", () => {
  expect(mappingsOf(maps, ["/models/my model.gguf"])).toEqual([
    { address: 0x7f35a4000000n, bytes: 0x1000000n },
    { address: 0x7f35a6000000n, bytes: 0x1000n },
  ]);
  expect(mappingsOf(maps, ["/models/my"])).toEqual([]);
});

test("what loading gives comes back, and what it throws", () => {
  expect(loadReleasingPages([import.meta.filename], () => "loaded")).toBe("loaded");
  const fails = () => {
    throw new Error("refused");
  };
  expect(() => loadReleasingPages([], fails)).toThrow("refused");
});
