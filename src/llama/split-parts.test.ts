import {
  copyFileSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { hashModelFiles } from "./fingerprint.ts";
import { readGgufHeader } from "./gguf-header.ts";
import { openLibrary } from "./library.ts";
import { LlamaBackend } from "./llama-backend.ts";
import { Model } from "./model.ts";
import { ModelFileError } from "./model-file-error.ts";
import { planNumerics } from "./numerics.ts";
import { quantizeModel } from "./quantize.ts";
import { modelNameOf, splitNameOf } from "./split-parts.ts";
import { encodeGguf, type GgufValue } from "./testing/gguf-file.ts";
import { writeSplitGguf } from "./testing/split-gguf.ts";
import { type TinyVariant, tinyGgufContent, tinyGgufFile } from "./testing/tiny-gguf.ts";

function folderFor(): string {
  const folder = mkdtempSync(join(tmpdir(), "split-parts-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const library = openLibrary({ silent: true });
const prompt = Array.from({ length: 40 }, (_, index) => 30 + ((index * 7) % 50));

/** The bytes of all logits of the prompt. */
function logitBytes(path: string): Buffer {
  const numerics = planNumerics("reproducible", readGgufHeader(path).matrixTypes);
  const model = Model.load(library, { path, repackWeights: numerics.repackWeights });
  const backend = new LlamaBackend({ model, numerics, contextLength: 64, slots: 1, threads: 1 });
  try {
    backend.decode(
      prompt.map((token, position) => ({ token, position, sequence: 0, logits: true })),
    );
    const rows = prompt.map((_, index) => Buffer.from(backend.logits(index).slice().buffer));
    return Buffer.concat(rows);
  } finally {
    backend.close();
    model.free();
  }
}

function problemOf(path: string): ModelFileError {
  try {
    readGgufHeader(path);
  } catch (error) {
    if (error instanceof ModelFileError) return error;
    throw error;
  }
  throw new Error("the file was accepted");
}

const split = (count = 3, variant: TinyVariant = "plain", emptyFirst = false): string[] =>
  writeSplitGguf(tinyGgufContent({ variant }), {
    folder: folderFor(),
    name: "m",
    count,
    emptyFirst,
  });

describe("a split model", () => {
  test.each(["plain", "gemma3", "mamba"] as const)(
    "%s has the logits of the whole one, by any part",
    (variant) => {
      const whole = logitBytes(tinyGgufFile({ variant }));
      for (const path of split(3, variant)) expect(logitBytes(path).equals(whole)).toBe(true);
    },
  );

  test("may begin with a part that has no tensors", () => {
    const [first = ""] = split(4, "plain", true);
    expect(logitBytes(first).equals(logitBytes(tinyGgufFile()))).toBe(true);
  });

  test("has the header of the whole one, with tensors and bytes of all parts", () => {
    const whole = readGgufHeader(tinyGgufFile());
    const paths = split(3);
    const header = readGgufHeader(paths[1] ?? "");
    expect(header).toMatchObject({
      architecture: "llama",
      tensorCount: whole.tensorCount,
      matrixParameters: whole.matrixParameters,
      splitParts: 3,
      paths,
    });
    expect(header.weights).toEqual(whole.weights);
    expect(header.neededBytes).toBeGreaterThan(whole.neededBytes);
  });

  test("counts the types of every part: they decide the numerics", () => {
    const content = tinyGgufContent({ tensorType: "q8_0" });
    const tensors = content.tensors.map((tensor, index) =>
      index === content.tensors.length - 1
        ? { name: "extra", shape: [8, 8], typeId: 0, data: new Uint8Array(256) }
        : tensor,
    );
    const options = { folder: folderFor(), name: "mixed", count: 3 };
    const [first = ""] = writeSplitGguf({ ...content, tensors }, options);
    expect([...readGgufHeader(first).matrixTypes].toSorted()).toEqual(["F32", "Q8_0"]);
  });

  test("is converted to one file with the bytes of the converted whole", () => {
    const folder = folderFor();
    const [one, other] = [join(folder, "a.gguf"), join(folder, "b.gguf")];
    quantizeModel(library, { from: tinyGgufFile(), to: one, type: "q8_0" });
    quantizeModel(library, { from: split(3)[1] ?? "", to: other, type: "q8_0" });
    expect(readGgufHeader(other).weights).toEqual(readGgufHeader(one).weights);
    expect(readGgufHeader(other).splitParts).toBe(1);
    expect(logitBytes(other).equals(logitBytes(one))).toBe(true);
  });

  test("has another hash when any part has other bytes", async () => {
    const paths = split(3);
    const before = await hashModelFiles(paths);
    const last = paths[2] ?? "";
    const bytes = readFileSync(last);
    bytes[bytes.length - 40] = (bytes[bytes.length - 40] ?? 0) ^ 1;
    writeFileSync(last, bytes);
    expect(await hashModelFiles(paths)).not.toBe(before);
  });
});

describe("a split model that is not whole", () => {
  test("names the parts that are missing", () => {
    const [first = "", second = "", third = ""] = split(3);
    rmSync(second);
    expect(problemOf(first).message).toMatch(
      /into 3 files and m-00002-of-00003.gguf is missing\.$/,
    );
    rmSync(third);
    const problem = problemOf(first);
    expect(problem.reason).toBe("missing");
    expect(problem.message).toMatch(/m-00002-of-00003.gguf, m-00003-of-00003.gguf are missing\.$/);
  });

  test("names the first part when that is missing", () => {
    const [first = "", second = ""] = split(2);
    rmSync(first);
    expect(problemOf(second).message).toMatch(/first part is missing: m-00001-of-00002.gguf\.$/);
  });

  test("is refused under a name that says nothing of parts", () => {
    const [first = ""] = split(2);
    const odd = join(folderFor(), "odd.gguf");
    renameSync(first, odd);
    expect(problemOf(odd).reason).toBe("damaged");
  });

  test("is refused when a part stands in another's place, or is cut off", () => {
    const [first = "", second = "", third = ""] = split(3);
    const bytes = readFileSync(third);
    writeFileSync(third, bytes.subarray(0, bytes.length - 100));
    expect(problemOf(first).message).toContain("m-00003-of-00003.gguf is damaged or cut off");
    copyFileSync(second, third);
    expect(problemOf(first).message).toContain("says that it is part 2 of 3, not 3 of 3");
  });

  test("is refused when tensors are missing", () => {
    const content = tinyGgufContent();
    const options = { folder: folderFor(), name: "few", count: 2 };
    const [first = "", second = ""] = writeSplitGguf(content, options);
    const metadata = new Map<string, GgufValue>([
      ["split.no", { kind: "uint16", value: 1 }],
      ["split.count", { kind: "uint16", value: 2 }],
    ]);
    writeFileSync(second, encodeGguf({ metadata, tensors: content.tensors.slice(-1) }));
    expect(problemOf(first).message).toMatch(/have \d+ of \d+ tensors\.$/);
  });
});

test("names of parts are told from other names", () => {
  expect(splitNameOf("/a/x-00002-of-00003.gguf")).toEqual({ stem: "/a/x", part: 2, count: 3 });
  for (const name of [
    "x.gguf",
    "x-2-of-3.gguf",
    "x-00004-of-00003.gguf",
    "x-00000-of-00003.gguf",
  ]) {
    expect(splitNameOf(name)).toBeUndefined();
  }
  expect(modelNameOf("/a/x-00002-of-00003.gguf")).toBe("x");
  expect(modelNameOf("/a/x.Q8_0.gguf")).toBe("x.Q8_0");
});
