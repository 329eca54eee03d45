import { statSync } from "node:fs";
import { expect, test } from "vitest";
import { type LoadAttempt, loadWithoutCopy } from "./file-copy.ts";

const path = import.meta.filename;
const fileBytes = statSync(path).size;

/** A library that sets so many bytes aside before it reads weights, and stops when it is told to. */
function loading(copiedBytes: number) {
  let bytes = 1_000_000;
  const attempts: string[] = [];
  const load = ({ mapsFile, goesOn }: LoadAttempt): string | null => {
    bytes += copiedBytes;
    const whole = goesOn() && goesOn();
    if (!whole) bytes -= copiedBytes;
    attempts.push(`${mapsFile ? "mapped" : "read"}${whole ? "" : ", ended"}`);
    return whole ? "model" : null;
  };
  return { loaded: loadWithoutCopy([path], load, () => bytes), attempts };
}

test("a file whose weights are copied is read instead of mapped", () => {
  expect(loading(fileBytes)).toEqual({ loaded: "model", attempts: ["mapped, ended", "read"] });
});

test("a file whose weights are used where they lie stays mapped", () => {
  expect(loading(fileBytes / 4)).toEqual({ loaded: "model", attempts: ["mapped"] });
});

test("what loading gives comes back, and what it throws", () => {
  expect(loadWithoutCopy([path], () => null)).toBeNull();
  const fails = () => {
    throw new Error("refused");
  };
  expect(() => loadWithoutCopy([path], fails)).toThrow("refused");
});
