import { describe, expect, test } from "vitest";
import { bytesText, planEngineSize } from "./engine-size.ts";
import { readGgufHeader } from "./gguf-header.ts";
import { estimateMemory } from "./memory-estimate.ts";
import { tinyGgufFile } from "./testing/tiny-gguf.ts";

const header = readGgufHeader(
  tinyGgufFile({ layers: 4, embedding: 256, heads: 4, contextLength: 8192 }),
);
const format = { numerics: "reproducible", kvType: "f16" } as const;
const nothing = { contextLength: undefined, slots: undefined, ...format };
const free = (freeBytes: number) => ({ freeBytes, limitBytes: undefined });
const needs = (contextLength: number, slots: number) =>
  estimateMemory(header, { contextLength, slots, ...format }).total;
const gigabyte = 1e9;

describe("defaults", () => {
  test("are 8 sequences of 4,096 tokens where there is room", () => {
    const size = planEngineSize(header, nothing, free(8 * gigabyte));
    expect(size).toMatchObject({ contextLength: 4096, slots: 8, warnings: [] });
    expect(size.memory.total).toBe(needs(4096, 8));
  });

  test("keep to what the model was trained for", () => {
    const short = readGgufHeader(tinyGgufFile({ contextLength: 512 }));
    expect(planEngineSize(short, nothing, free(8 * gigabyte)).contextLength).toBe(512);
  });

  test("give up slots first, then context, and say so", () => {
    const fewer = planEngineSize(header, nothing, free(needs(4096, 2) / 0.89));
    expect(fewer).toMatchObject({ contextLength: 4096, slots: 2 });
    expect(fewer.warnings).toHaveLength(1);
    expect(fewer.warnings[0]).toContain("serving --slots 2 --context 4096");
    const shorter = planEngineSize(header, nothing, free(needs(512, 2) / 0.89));
    expect(shorter).toMatchObject({ contextLength: 512, slots: 2 });
  });

  test("never touch what was asked for", () => {
    const wanted = { ...nothing, slots: 8 };
    const size = planEngineSize(header, wanted, free(needs(1024, 8) / 0.89));
    expect(size).toMatchObject({ contextLength: 1024, slots: 8 });
    const long = { ...nothing, contextLength: 4096 };
    const other = planEngineSize(header, long, free(needs(4096, 1) / 0.89));
    expect(other).toMatchObject({ contextLength: 4096, slots: 1 });
  });

  test("fit into --memory when that is less than what is free", () => {
    const available = { freeBytes: 8 * gigabyte, limitBytes: needs(4096, 4) };
    const size = planEngineSize(header, nothing, available);
    expect(size).toMatchObject({ contextLength: 4096, slots: 4 });
    expect(size.warnings[0]).toContain("allowed (--memory)");
  });
});

describe("what was asked for and cannot fit", () => {
  const wanted = { ...format, slots: 256, contextLength: 1_000_000 };
  const message = (freeBytes: number, limitBytes?: number): string => {
    try {
      planEngineSize(header, wanted, { freeBytes, limitBytes });
    } catch (error) {
      return (error as Error).message;
    }
    return "";
  };

  test("is refused with the sizes and what would fit", () => {
    const text = message(8 * gigabyte);
    const full = bytesText(needs(1_000_000, 256));
    expect(text).toContain(`--slots 256 --context 1000000 need about ${full} of memory`);
    expect(text).toContain("8.0 GB are free");
    expect(text).toMatch(/with --slots 256, --context \d+ fits/);
  });

  test("what it says would fit fits, and twice that would not", () => {
    const length = Number(/--slots 256, --context (\d+) fits/.exec(message(8 * gigabyte))?.[1]);
    expect(needs(length, 256)).toBeLessThanOrEqual(8 * gigabyte);
    expect(needs(2 * length, 256)).toBeGreaterThan(8 * gigabyte);
  });

  test("names the limit that was set", () => {
    expect(message(8 * gigabyte, gigabyte)).toContain("1.0 GB are allowed (--memory)");
  });

  test("where nothing at all fits it says what the least needs", () => {
    const text = message(10e6);
    expect(text).toContain("even one sequence of 256 tokens needs");
  });
});

test("a context beyond the trained one is served with a warning", () => {
  const wanted = { ...nothing, contextLength: 10_000, slots: 1 };
  const { contextLength, warnings } = planEngineSize(header, wanted, free(8 * gigabyte));
  expect(contextLength).toBe(10_000);
  expect(warnings).toEqual([expect.stringContaining("the 8192 tokens")]);
});

test("sizes are said in two or three digits", () => {
  expect([999, 136e6, 1.25e9, 17.4e9, 5.5e12].map(bytesText)).toEqual([
    "999 B",
    "136 MB",
    "1.3 GB",
    "17 GB",
    "5.5 TB",
  ]);
});
