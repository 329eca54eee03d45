import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { childEntry } from "./child-entry.ts";

const caller = (path: string): string => pathToFileURL(resolve(path)).href;

test("a caller in source finds the source entry", () => {
  expect(childEntry("quantize-process", caller("src/llama/engine.ts"))).toBe(
    resolve("src/llama/quantize-process.ts"),
  );
});

test("a compiled caller finds the compiled entry, also in odd folders", () => {
  expect(childEntry("quantize-process", caller("a b#c/node_modules/dist/llama/engine.js"))).toBe(
    resolve("a b#c/node_modules/dist/llama/quantize-process.js"),
  );
});
