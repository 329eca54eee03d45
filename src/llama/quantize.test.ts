import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { childEntry } from "./child-entry.ts";
import { readGgufHeader } from "./gguf-header.ts";
import { openLibrary } from "./library.ts";
import { ModelFileError } from "./model-file-error.ts";
import { quantizeModel } from "./quantize.ts";
import { tinyGguf, tinyGgufFile } from "./testing/tiny-gguf.ts";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "quantize-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("converting a model", () => {
  const library = openLibrary({ silent: true });

  test("gives a whole file of the wanted type, the same bytes each time", () => {
    const from = tinyGgufFile();
    const [to, again] = [join(folder, "a.gguf"), join(folder, "b.gguf")];
    quantizeModel(library, { from, to, type: "q8_0" });
    expect([...readGgufHeader(to).matrixTypes]).toEqual(["Q8_0"]);
    quantizeModel(library, { from, to: again, type: "q8_0", threads: 2 });
    expect(readFileSync(again).equals(readFileSync(to))).toBe(true);
  });

  test("works from a quantised file, too", () => {
    const from = join(folder, "from.gguf");
    writeFileSync(from, tinyGguf({ tensorType: "q8_0" }));
    const to = join(folder, "to.gguf");
    quantizeModel(library, { from, to, type: "q4_0" });
    expect(readGgufHeader(to).matrixTypes).toContain("Q4_0");
  });

  test("leaves no file behind when it fails", () => {
    const from = join(folder, "cut.gguf");
    writeFileSync(from, tinyGguf().subarray(0, 40_000));
    const to = join(folder, "never.gguf");
    expect(() => quantizeModel(library, { from, to, type: "q8_0" })).toThrow(ModelFileError);
    expect(existsSync(to)).toBe(false);
  });
});

describe("the converting process", () => {
  interface Ended {
    readonly code: number;
    readonly lastLine: string;
  }

  function run(...parameters: string[]): Promise<Ended> {
    const entry = childEntry("quantize-process", import.meta.url);
    return new Promise((resolve) => {
      execFile(process.execPath, [entry, ...parameters], (error, _, stderr) => {
        const code = error === null ? 0 : Number(error.code);
        resolve({ code, lastLine: stderr.trimEnd().split("\n").at(-1) ?? "" });
      });
    });
  }

  test("exits with 0 when the file is there", async () => {
    const to = join(folder, "process.gguf");
    expect((await run(tinyGgufFile(), to, "q8_0")).code).toBe(0);
    expect([...readGgufHeader(to).matrixTypes]).toEqual(["Q8_0"]);
  });

  test("exits with 1 and one sentence when it is not", async () => {
    const missing = await run(join(folder, "none.gguf"), join(folder, "x.gguf"), "q8_0");
    expect(missing.code).toBe(1);
    expect(missing.lastLine).toMatch(/^There is no model file at .*none\.gguf\.$/);
    const unknown = await run(tinyGgufFile(), join(folder, "x.gguf"), "q9");
    expect(unknown.code).toBe(1);
    expect(unknown.lastLine).toMatch(/^There is no weight type q9; available: /);
  });
});
