import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readGgufHeader } from "./gguf-header.ts";
import { ModelFileError } from "./model-file-error.ts";
import { encodeGguf, type GgufFile } from "./testing/gguf-file.ts";
import { tinyGguf } from "./testing/tiny-gguf.ts";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "gguf-header-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let files = 0;
function fileOf(bytes: Uint8Array, name?: string): string {
  files += 1;
  const path = join(folder, name ?? `${files}.gguf`);
  writeFileSync(path, bytes);
  return path;
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

/** Two tensors of 64 and 32 bytes, so the data section has 96 bytes. */
const small: GgufFile = {
  metadata: new Map([
    ["general.architecture", { kind: "string", value: "llama" }],
    ["general.name", { kind: "string", value: "Small" }],
    ["general.file_type", { kind: "uint32", value: 7 }],
    ["tokenizer.ggml.tokens", { kind: "strings", values: ["a", "b", "longer"] }],
    ["tokenizer.ggml.scores", { kind: "float32s", values: [0, 1, 2] }],
    ["tokenizer.ggml.add_bos_token", { kind: "bool", value: true }],
  ]),
  tensors: [
    { name: "matrix", shape: [4, 4], typeId: 0, data: new Uint8Array(64) },
    { name: "vector", shape: [8], typeId: 0, data: new Uint8Array(32) },
  ],
};

/** A header of raw numbers: magic, version, tensors, metadata entries, rest. */
function rawHeader(tensors: bigint, entries: bigint, rest: readonly number[] = []): Uint8Array {
  const view = new DataView(new ArrayBuffer(24));
  view.setUint32(0, 0x46554747, true);
  view.setUint32(4, 3, true);
  view.setBigUint64(8, tensors, true);
  view.setBigUint64(16, entries, true);
  return Uint8Array.of(...new Uint8Array(view.buffer), ...rest);
}

describe("a whole file", () => {
  test("tells what the model is", () => {
    const bytes = encodeGguf(small);
    const header = readGgufHeader(fileOf(bytes));
    expect(header).toMatchObject({
      version: 3,
      architecture: "llama",
      name: "Small",
      fileType: 7,
      tensorCount: 2,
      splitParts: 1,
    });
    expect(header.metadata.get("tokenizer.ggml.add_bos_token")).toBe(true);
    expect(header.metadata.has("tokenizer.ggml.tokens")).toBe(false);
    expect([...header.matrixTypes]).toEqual(["F32"]);
    expect(header.neededBytes).toBe(bytes.length);
  });

  test("tiny models of every weight type are whole", () => {
    for (const [tensorType, name] of [
      ["f32", "F32"],
      ["f16", "F16"],
      ["q8_0", "Q8_0"],
    ] as const) {
      const header = readGgufHeader(fileOf(tinyGguf({ tensorType })));
      expect([...header.matrixTypes]).toEqual([name]);
    }
  });
});

describe("what is no usable file", () => {
  test("nothing there", () => {
    const problem = problemOf(join(folder, "none.gguf"));
    expect(problem.reason).toBe("missing");
    expect(problem.message).toContain("none.gguf");
  });

  test("a folder", () => {
    expect(problemOf(folder).reason).toBe("unreadable");
  });

  test("an empty file, text and a zip archive", () => {
    for (const text of ["", "GG", "<!DOCTYPE html>", "PK\u0003\u0004 and more"]) {
      expect(problemOf(fileOf(Buffer.from(text))).reason).toBe("not-gguf");
    }
  });

  test("another version of the format", () => {
    const bytes = encodeGguf(small);
    bytes[4] = 9;
    expect(problemOf(fileOf(bytes)).reason).toBe("unsupported");
  });

  test("a number format from the future", () => {
    const tensor = { name: "matrix", shape: [4, 4], typeId: 99, data: new Uint8Array(64) };
    const problem = problemOf(fileOf(encodeGguf({ ...small, tensors: [tensor] })));
    expect(problem.reason).toBe("unsupported");
    expect(problem.message).toContain("99");
  });

  test("no architecture", () => {
    const file = { metadata: new Map(), tensors: small.tensors };
    expect(problemOf(fileOf(encodeGguf(file))).reason).toBe("damaged");
  });
});

describe("a file that was cut off", () => {
  test("is damaged wherever the cut is", () => {
    const bytes = encodeGguf(small);
    for (let length = 4; length < bytes.length; length += 1) {
      expect(problemOf(fileOf(bytes.subarray(0, length), "cut.gguf")).reason).toBe("damaged");
    }
  });

  test("is told with the bytes that are there", () => {
    const bytes = encodeGguf(small);
    const problem = problemOf(fileOf(bytes.subarray(0, bytes.length - 10)));
    expect(problem.message).toContain(`${bytes.length - 10} of ${bytes.length} bytes`);
  });
});

describe("hostile headers end quickly and as damaged", () => {
  const huge = 2n ** 63n - 1n;
  const key = [1, 0, 0, 0, 0, 0, 0, 0, 97];
  const length = (value: bigint): number[] => [...new Uint8Array(BigUint64Array.of(value).buffer)];

  test.each([
    ["tensor count", rawHeader(huge, 0n)],
    ["entry count", rawHeader(0n, huge)],
    ["entry count that fits a double", rawHeader(0n, 2n ** 40n)],
    ["key length", rawHeader(0n, 1n, length(huge))],
    ["text length", rawHeader(0n, 1n, [...key, 8, 0, 0, 0, ...length(2n ** 50n)])],
    ["list length", rawHeader(0n, 1n, [...key, 9, 0, 0, 0, 4, 0, 0, 0, ...length(2n ** 52n)])],
    ["list of texts", rawHeader(0n, 1n, [...key, 9, 0, 0, 0, 8, 0, 0, 0, ...length(2n ** 52n)])],
    ["list of lists", rawHeader(0n, 1n, [...key, 9, 0, 0, 0, 9, 0, 0, 0, ...length(1n)])],
    ["value type", rawHeader(0n, 1n, [...key, 77, 0, 0, 0])],
  ])("%s", (_, bytes) => {
    expect(problemOf(fileOf(bytes)).reason).toBe("damaged");
  });

  test("whatever bytes change, the answer is a header or a ModelFileError", () => {
    const bytes = encodeGguf(small);
    const change = fc.tuple(fc.nat(bytes.length - 1), fc.nat(255));
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 6 }), (changes) => {
        const copy = bytes.slice();
        for (const [at, value] of changes) copy[at] = value;
        const path = fileOf(copy, "changed.gguf");
        try {
          readGgufHeader(path);
        } catch (error) {
          expect(error).toBeInstanceOf(ModelFileError);
        }
      }),
      { numRuns: 300 },
    );
  });
});
