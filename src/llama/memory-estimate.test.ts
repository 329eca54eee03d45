import { describe, expect, test } from "vitest";
import { readGgufHeader } from "./gguf-header.ts";
import { cacheBytesPerToken, checkCacheFormat, estimateMemory } from "./memory-estimate.ts";
import { type TinyGgufOptions, tinyGgufFile } from "./testing/tiny-gguf.ts";

const mebibyte = 1024 ** 2;

/** The header of SmolLM2-135M-Instruct, Q8_0. */
const small = {
  architecture: "llama",
  metadata: new Map<string, string | number | boolean>([
    ["llama.block_count", 30],
    ["llama.embedding_length", 576],
    ["llama.feed_forward_length", 1536],
    ["llama.attention.head_count", 9],
    ["llama.attention.head_count_kv", 3],
    ["llama.context_length", 8192],
  ]),
  numberLists: new Map<string, readonly number[]>(),
  lengths: new Map([["tokenizer.ggml.tokens", 49_152]]),
  matrixTypes: new Set(["Q8_0"]),
  weights: new Map([["Q8_0", { tensors: 211, parameters: 134e6, bytes: 135.5 * mebibyte }]]),
};

// Cache and compute buffer as the library gave them in its log, resident memory as the kernel did
// after a prompt was read and scored; all in MiB.
const measured = [
  { slots: 1, contextLength: 8192, cache: 180, compute: 166.4, resident: 645 },
  { slots: 64, contextLength: 512, cache: 720, compute: 98.3, resident: 1182 },
  { slots: 8, contextLength: 8192, cache: 1440, compute: 166.4, resident: 1908 },
  { numerics: "fast", slots: 8, contextLength: 4096, cache: 720, compute: 98.3, resident: 1177 },
  {
    numerics: "fast",
    kvType: "q8_0",
    slots: 2,
    contextLength: 8192,
    cache: 191.25,
    compute: 99.4,
    resident: 648,
  },
  {
    numerics: "exact",
    kvType: "q8_0",
    slots: 2,
    contextLength: 8192,
    cache: 275.62,
    compute: 165.3,
    resident: 739,
  },
] as const;

test.each(measured)("foretells what the library allocates: %j", (row) => {
  const options = { numerics: "reproducible", kvType: "f16", ...row } as const;
  const estimate = estimateMemory(small, options);
  expect(estimate.cache / mebibyte).toBeCloseTo(row.cache, 1);
  expect(Math.abs(estimate.compute / mebibyte / row.compute - 1)).toBeLessThan(0.02);
  expect(Math.abs(estimate.total / mebibyte / row.resident - 1)).toBeLessThan(0.1);
});

describe("of other kinds of model", () => {
  const wide = { layers: 4, embedding: 256, heads: 4, contextLength: 8192, tensorType: "q8_0" };
  // As the library gave them for 8 sequences of 4,096 tokens, in MiB.
  test.each([
    { variant: "plain", cache: 64, compute: 43.01 },
    { variant: "gemma3", cache: 64, compute: 51.51 },
    { variant: "mamba", cache: 1.19, compute: 6.85 },
  ] as const)("$variant", ({ variant, cache, compute }) => {
    const header = readGgufHeader(tinyGgufFile({ ...wide, variant } as TinyGgufOptions));
    const options = { numerics: "reproducible", kvType: "f16", slots: 8 } as const;
    const estimate = estimateMemory(header, { ...options, contextLength: 4096 });
    expect(estimate.cache / mebibyte).toBeCloseTo(cache, 1);
    expect(Math.abs(estimate.compute / mebibyte - compute)).toBeLessThan(3);
  });

  test("key heads that differ by layer, some layers without any", () => {
    const numberLists = new Map([["llama.attention.head_count_kv", [3, 0, 1]]]);
    const metadata = new Map(small.metadata).set("llama.block_count", 3);
    metadata.delete("llama.attention.head_count_kv");
    const header = { ...small, metadata, numberLists };
    const format = { numerics: "reproducible", kvType: "f16" } as const;
    // Keys and values of 64 numbers, two bytes each, of 3 + 0 + 1 heads.
    expect(cacheBytesPerToken(header, format)).toBe(4 * (64 + 64) * 2);
  });
});

test("a token of the default model takes 22.5 KiB, with q8_0 keys 17.2, in fast 12", () => {
  const bytes = (numerics: "fast" | "reproducible", kvType: "f16" | "q8_0") =>
    cacheBytesPerToken(small, { numerics, kvType });
  expect(bytes("reproducible", "f16")).toBe(23_040);
  expect(bytes("reproducible", "q8_0")).toBe(11_520 + (11_520 / 64) * 34);
  expect(bytes("fast", "q8_0")).toBe((23_040 / 64) * 34);
});

test("heads that q8_0 does not divide are refused with their length", () => {
  const metadata = new Map(small.metadata).set("llama.attention.key_length", 80);
  const format = { numerics: "reproducible", kvType: "q8_0" } as const;
  expect(() => checkCacheFormat({ ...small, metadata }, format)).toThrow(
    "--kv-type q8_0 stores numbers in blocks of 32, but this model's heads have 80; use " +
      "--kv-type f16.",
  );
  expect(() => checkCacheFormat(small, format)).not.toThrow();
  const f16 = { ...format, kvType: "f16" } as const;
  expect(() => checkCacheFormat({ ...small, metadata }, f16)).not.toThrow();
});
