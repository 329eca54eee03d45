import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { writeSplitGguf } from "../llama/testing/split-gguf.ts";
import { tinyGguf, tinyGgufContent, tinyGgufFile } from "../llama/testing/tiny-gguf.ts";
import { recordPath } from "./converted-model.ts";
import { defaultModel } from "./default-model.ts";
import { readModelFacts } from "./model-facts.ts";
import { findStored, listStored, locateModel, removeStored, storedType } from "./stored-models.ts";
import { temporaryFolder } from "./testing/temporary-folder.ts";

function folderWith(...names: readonly string[]): string {
  const folder = temporaryFolder();
  for (const name of names) writeFileSync(join(folder, name), tinyGguf({ tensorType: "q8_0" }));
  return folder;
}

describe("the folder", () => {
  test("shows a split model once, with the bytes of all its parts", async () => {
    const folder = folderWith("one.gguf");
    writeFileSync(join(folder, "a.gguf.hub-1.part"), "x");
    writeFileSync(join(folder, "note.txt"), "x");
    writeSplitGguf(tinyGgufContent(), { folder, name: "big", count: 3 });
    const stored = await listStored(folder);
    expect(stored.map(({ fileName, parts, paths }) => [fileName, parts, paths.length])).toEqual([
      ["a.gguf.hub-1.part", 1, 1],
      ["big-00001-of-00003.gguf", 3, 3],
      ["one.gguf", 1, 1],
    ]);
    expect(stored[1]?.bytes).toBeGreaterThan(tinyGguf().length);
    expect(stored.map(storedType)).toEqual(["not complete", "F32", "Q8_0"]);
  });

  test("tells a damaged file and a missing part", async () => {
    const folder = folderWith();
    writeFileSync(join(folder, "cut.gguf"), tinyGguf().subarray(0, 5_000));
    const [first = ""] = writeSplitGguf(tinyGgufContent(), { folder, name: "big", count: 2 });
    await removeStored("cut.gguf", folder);
    writeFileSync(join(folder, "cut.gguf"), tinyGguf().subarray(0, 5_000));
    writeFileSync(first.replace("00001-of", "00009-of"), "x");
    const stored = await listStored(folder);
    expect(stored.map(storedType)).toContain("damaged");
  });

  test("that is not there is empty", async () => {
    expect(await listStored(join(temporaryFolder(), "none"))).toEqual([]);
  });
});

describe("a model is found", () => {
  test("by path, by file name and by the name without .gguf", async () => {
    const folder = folderWith("one.gguf");
    const path = join(folder, "one.gguf");
    for (const name of [path, "one.gguf", "one"]) {
      expect(await locateModel(name, folder)).toBe(path);
    }
    const missing = locateModel("two", folder);
    await expect(missing).rejects.toThrow(`no model two in ${folder}`);
  });

  test("under the default model's name, as it is served first", async () => {
    const folder = folderWith(defaultModel.fileName, defaultModel.servedFileName);
    const found = await findStored(defaultModel.id, folder);
    expect(found.map(({ fileName }) => fileName)).toEqual([
      defaultModel.servedFileName,
      defaultModel.fileName,
    ]);
  });
});

describe("removing", () => {
  test("takes a file and its record, or all parts", async () => {
    const folder = folderWith("one.gguf", "two.gguf");
    writeFileSync(recordPath(join(folder, "one.gguf")), "{}");
    writeSplitGguf(tinyGgufContent(), { folder, name: "big", count: 3 });
    expect(await removeStored("one", folder)).toEqual([join(folder, "one.gguf")]);
    expect(existsSync(recordPath(join(folder, "one.gguf")))).toBe(false);
    expect(await removeStored("big-00002-of-00003.gguf", folder)).toHaveLength(3);
    expect((await listStored(folder)).map(({ fileName }) => fileName)).toEqual(["two.gguf"]);
  });

  test("takes both files of the default model by its name, one by its own", async () => {
    const folder = folderWith(defaultModel.fileName, defaultModel.servedFileName);
    expect(await removeStored(defaultModel.id, folder)).toHaveLength(2);
    const again = folderWith(defaultModel.fileName, defaultModel.servedFileName);
    expect(await removeStored(defaultModel.fileName, again)).toHaveLength(1);
  });

  test.each(["../secret.gguf", "/etc/passwd", "a/b.gguf", "..", ".", "", "a\\b", "a\0.gguf"])(
    "refuses %j: it may lead out of the folder",
    async (name) => {
      const parent = temporaryFolder();
      const folder = join(parent, "models");
      mkdirSync(folder);
      writeFileSync(join(parent, "secret.gguf"), tinyGguf());
      await expect(removeStored(name, folder)).rejects.toThrow(/is no name of a model/);
      expect(existsSync(join(parent, "secret.gguf"))).toBe(true);
    },
  );

  test("says when there is no such model", async () => {
    await expect(removeStored("none", folderWith("one.gguf"))).rejects.toThrow(/no model "none"/);
  });
});

describe("facts of a file", () => {
  test("come from its header", () => {
    const { facts } = readModelFacts(tinyGgufFile({ variant: "fim", tensorType: "q8_0" }));
    expect(facts).toMatchObject({
      architecture: "llama",
      type: "Q8_0",
      layers: 2,
      trainedContext: 512,
      recurrent: false,
      floatWeights: false,
      slidingWindow: undefined,
    });
    expect([...(facts.infill?.values() ?? [])].map(({ text }) => text)).toEqual([
      ...["<fim_prefix>", "<fim_suffix>", "<fim_middle>"],
    ]);
    const bytes = facts.weights.reduce((total, each) => total + each.bytes, 0);
    expect(bytes).toBe(facts.bytes);
  });

  test("tell windows and recurrent state", () => {
    const factsOf = (variant: "plain" | "gemma3" | "mamba") =>
      readModelFacts(tinyGgufFile({ variant })).facts;
    expect(factsOf("gemma3").slidingWindow).toBe(32);
    expect(factsOf("mamba").recurrent).toBe(true);
    expect(factsOf("plain")).toMatchObject({ infill: undefined, recurrent: false });
  });
});
