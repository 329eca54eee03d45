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

// In MiB: the cache as the library gave it in its log, and what the kernel said was resident after
// one sequence was read to its last token and 128 rows were scored.
const measured = [
  { slots: 2, contextLength: 8192, cache: 360, resident: 895 },
  { slots: 8, contextLength: 4096, cache: 720, resident: 1141 },
] as const;

test.each(measured)("foretells what an engine takes: %j", ({ cache, resident, ...shape }) => {
  const options = { numerics: "reproducible", kvType: "f16", ...shape } as const;
  const estimate = estimateMemory(small, options);
  expect(estimate.cache / mebibyte).toBeCloseTo(cache, 1);
  expect(Math.abs(estimate.total / mebibyte / resident - 1)).toBeLessThan(0.05);
});

// Without a long prompt less is touched than is set aside for one.
const scarcelyUsed = [
  { numerics: "reproducible", slots: 1, contextLength: 512, cache: 11.25, resident: 305 },
  { numerics: "reproducible", slots: 64, contextLength: 512, cache: 720, resident: 1050 },
  { numerics: "fast", slots: 8, contextLength: 4096, cache: 720, resident: 1045 },
  {
    numerics: "fast",
    kvType: "q8_0",
    slots: 2,
    contextLength: 8192,
    cache: 191.25,
    resident: 516,
  },
  {
    numerics: "exact",
    kvType: "q8_0",
    slots: 2,
    contextLength: 8192,
    cache: 275.62,
    resident: 608,
  },
] as const;

test.each(scarcelyUsed)("never less than was seen: %j", ({ cache, resident, ...shape }) => {
  const estimate = estimateMemory(small, { kvType: "f16", ...shape });
  expect(estimate.cache / mebibyte).toBeCloseTo(cache, 1);
  expect(estimate.total / mebibyte).toBeGreaterThan(resident);
  expect(estimate.total / mebibyte).toBeLessThan(1.4 * resident);
});

describe("of other kinds of model", () => {
  const wide = { layers: 4, embedding: 256, heads: 4, contextLength: 8192, tensorType: "q8_0" };
  // As the library gave them for 8 sequences of 4,096 tokens, in MiB.
  test.each([
    { variant: "plain", cache: 64 },
    { variant: "gemma3", cache: 64 },
    { variant: "mamba", cache: 1.19 },
  ] as const)("$variant", ({ variant, cache }) => {
    const header = readGgufHeader(tinyGgufFile({ ...wide, variant } as TinyGgufOptions));
    const options = { numerics: "reproducible", kvType: "f16", slots: 8 } as const;
    const estimate = estimateMemory(header, { ...options, contextLength: 4096 });
    expect(estimate.cache / mebibyte).toBeCloseTo(cache, 1);
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
