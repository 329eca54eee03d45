/** A model file from a stranger: its head is read by us, before the native library sees it. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readGgufHeader } from "../../src/llama/gguf-header.ts";
import { ModelFileError } from "../../src/llama/model-file-error.ts";
import { tinyGgufFile } from "../../src/llama/testing/tiny-gguf.ts";
import { temporaryFolder } from "../../src/models/testing/temporary-folder.ts";

const good = readFileSync(tinyGgufFile({ variant: "plain" }));
/** Far more than a head of ours takes, far less than what hostile ones claim. */
const memoryBytesMax = 64 * 1024 * 1024;

type Outcome = "read" | ModelFileError["reason"];

/** Whether the file was read or why not; anything but a ModelFileError fails the test. */
function outcomeOf(bytes: Uint8Array): Outcome {
  const path = join(temporaryFolder(), "model.gguf");
  writeFileSync(path, bytes);
  try {
    readGgufHeader(path);
    return "read";
  } catch (error) {
    if (error instanceof ModelFileError) return error.reason;
    throw error;
  }
}

/** A head from its parts: numbers are 32 bits, bigints 64 bits, texts without their length. */
function head(...parts: readonly (number | bigint | string)[]): Buffer {
  return Buffer.concat(
    parts.map((part) => {
      if (typeof part === "string") return Buffer.from(part);
      const bytes = Buffer.alloc(typeof part === "number" ? 4 : 8);
      if (typeof part === "number") bytes.writeUInt32LE(part);
      else bytes.writeBigUInt64LE(BigInt.asUintN(64, part));
      return bytes;
    }),
  );
}

const start = ["GGUF", 3] as const;
const [uint8, string, array] = [0, 8, 9];
const huge = 1n << 60n;

describe("claims that no file can keep are refused, and nothing is set aside for them", () => {
  test.each<[string, Buffer]>([
    ["2^60 tensors", head(...start, huge, 0n)],
    ["-1 tensors", head(...start, -1n, 0n)],
    ["2^60 metadata entries", head(...start, 0n, huge)],
    ["-1 metadata entries", head(...start, 0n, -1n)],
    ["a key of 2^60 bytes", head(...start, 0n, 1n, huge, "key")],
    ["a key of -1 bytes", head(...start, 0n, 1n, -1n, "key")],
    ["a text of 2^60 bytes", head(...start, 0n, 1n, 3n, "key", string, huge)],
    ["a text of 2^53 bytes", head(...start, 0n, 1n, 3n, "key", string, 1n << 53n)],
    ["a list of 2^60 numbers", head(...start, 0n, 1n, 3n, "key", array, uint8, huge)],
    ["a list of 2^52 long numbers", head(...start, 0n, 1n, 3n, "key", array, 10, 1n << 52n)],
    ["a list of 2^60 texts", head(...start, 0n, 1n, 3n, "key", array, string, huge)],
    ["a list of -1 texts", head(...start, 0n, 1n, 3n, "key", array, string, -1n)],
    [
      "a list of 4,096 numbers that are not there",
      head(...start, 0n, 1n, 3n, "key", array, 5, 4096n),
    ],
    ["a tensor with 2^31 dimensions", head(...start, 1n, 0n, 1n, "t", 2 ** 31)],
    ["a tensor of 2^60 numbers", head(...start, 1n, 0n, 1n, "t", 1, huge, 0, 0n)],
    [
      "a tensor of 2^52 rows of 2^52",
      head(...start, 1n, 0n, 1n, "t", 2, 1n << 52n, 1n << 52n, 0, 0n),
    ],
    ["a tensor beyond 2^60", head(...start, 1n, 0n, 1n, "t", 1, 1n, 0, huge)],
    ["an alignment of 0", head(...start, 0n, 1n, 17n, "general.alignment", 4, 0)],
    ["an alignment of 2^31", head(...start, 0n, 1n, 17n, "general.alignment", 4, 2 ** 31)],
  ])("%s", (_, bytes) => {
    const before = process.memoryUsage();
    expect(outcomeOf(bytes)).toBe("damaged");
    const after = process.memoryUsage();
    expect(after.heapUsed - before.heapUsed).toBeLessThan(memoryBytesMax);
    expect(after.arrayBuffers - before.arrayBuffers).toBeLessThan(memoryBytesMax);
  });

  test("a list in a list, and a list in that, are no format", () => {
    let nested = head(...start, 0n, 1n, 3n, "key", array);
    for (let depth = 0; depth < 10_000; depth += 1)
      nested = Buffer.concat([nested, head(array, 1n)]);
    expect(outcomeOf(nested)).toBe("damaged");
  });

  test("a million empty texts in a list are passed over one by one", () => {
    const texts = Buffer.alloc(8 * 1_000_000);
    const bytes = Buffer.concat([
      head(...start, 0n, 1n, 3n, "key", array, string, 1_000_000n),
      texts,
    ]);
    // It ends well, and only then it is missed that the file names no architecture.
    expect(outcomeOf(bytes)).toBe("damaged");
  });

  test.each([1_000_000, 2 ** 31, 2 ** 32 - 1])("one of %s parts is refused", (parts) => {
    const bytes = head(
      ...[...start, 0n, 2n],
      ...[20n, "general.architecture", string, 5n, "llama"],
      ...[11n, "split.count", 4, parts],
    );
    expect(["damaged", "missing"]).toContain(outcomeOf(bytes));
  });
});

/** Bytes of the head of the good file: everything up to the data of its tensors. */
const headBytes = Math.min(good.length, 16_384);

test("a good head with some bytes changed is read or refused, never more", () => {
  const change = fc.record({
    at: fc.integer({ min: 0, max: headBytes - 9 }),
    bytes: fc.oneof(
      fc.uint8Array({ minLength: 1, maxLength: 8 }),
      fc.constantFrom(
        new Uint8Array(8).fill(0xff),
        new Uint8Array(8),
        Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0x10),
        Uint8Array.of(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x1f, 0),
      ),
    ),
  });
  fc.assert(
    fc.property(fc.array(change, { minLength: 1, maxLength: 4 }), (changes) => {
      const bytes = Buffer.from(good);
      for (const { at, bytes: some } of changes) bytes.set(some, at);
      outcomeOf(bytes);
    }),
    { numRuns: 300 },
  );
});

test("a head cut anywhere is refused", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: headBytes - 1 }), (length) => {
      expect(["damaged", "not-gguf"]).toContain(outcomeOf(good.subarray(0, length)));
    }),
    { numRuns: 200 },
  );
});

test("any bytes after the magic are refused or read", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      outcomeOf(Buffer.concat([head(...start), bytes]));
    }),
    { numRuns: 500 },
  );
});
