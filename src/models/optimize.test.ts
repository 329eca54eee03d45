import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { readGgufHeader } from "../llama/gguf-header.ts";
import { writeSplitGguf } from "../llama/testing/split-gguf.ts";
import { tinyGguf, tinyGgufContent, tinyGgufFile } from "../llama/testing/tiny-gguf.ts";
import { type OptimizeOptions, optimizeModel } from "./optimize.ts";
import { checkFreeSpace, convertedPath, convertFile } from "./optimize-convert.ts";
import { OptimizeError } from "./optimize-error.ts";
import { measureFile } from "./optimize-measure.ts";
import { optimizeText } from "./optimize-text.ts";
import { defaultTypes, estimateBytes } from "./optimize-types.ts";
import { temporaryFolder } from "./testing/temporary-folder.ts";

const text = optimizeText.slice(0, 1_500);

function optionsFor(overrides: Partial<OptimizeOptions> = {}): OptimizeOptions {
  return {
    path: tinyGgufFile(),
    types: ["q8_0"],
    text,
    cache: temporaryFolder(),
    numerics: "reproducible",
    threads: 1,
    rounds: 1,
    signal: new AbortController().signal,
    onStep: () => undefined,
    ...overrides,
  };
}

const speeds = { read: 100, write: 10, score: 50 };

describe("measuring a model", () => {
  test("gives speeds and quality of each type, and leaves nothing behind", async () => {
    const options = optionsFor({ types: ["q8_0", "q4_0"] });
    const report = await optimizeModel(options);
    const [original, ...others] = report.measured;
    expect(original).toMatchObject({ type: "F32", fileType: undefined, speedup: 1 });
    expect(original.quality).toMatchObject({ meanDifference: 0, largestDifference: 0 });
    expect(others.map(({ type }) => type).toSorted()).toEqual(["Q4_0", "Q8_0"]);
    for (const each of report.measured) {
      expect(Object.values(each.speeds).every((speed) => speed > 0)).toBe(true);
      expect(each.quality.meanLogprob).toBeLessThan(0);
    }
    const differenceOf = (name: string) =>
      others.find(({ type }) => type === name)?.quality.meanDifference ?? Number.NaN;
    expect(differenceOf("Q8_0")).toBeGreaterThan(0);
    expect(differenceOf("Q4_0")).toBeGreaterThan(differenceOf("Q8_0"));
    expect(report.scoredTokens).toBeGreaterThan(100);
    expect(report.requantised).toBe(false);
    expect(readdirSync(options.cache)).toEqual([]);
  });

  test("takes turns, each round beginning with another file", async () => {
    const order: string[] = [];
    await optimizeModel(
      optionsFor({
        types: ["q8_0", "q4_0"],
        rounds: 3,
        measure: async ({ path, wholeText }) => {
          order.push(`${readGgufHeader(path).fileType ?? "own"}${wholeText ? " whole" : ""}`);
          return { speeds, logprobs: wholeText ? [-1, -2] : [], tokensLeftOut: 0 };
        },
      }),
    );
    expect(order).toEqual([
      ...["own whole", "7 whole", "2 whole"],
      ...["7", "2", "own"],
      ...["2", "own", "7"],
    ]);
  });

  test("goes on without a type that cannot be measured, and says why", async () => {
    const { measured, failed } = await optimizeModel(
      optionsFor({
        types: ["q8_0", "q4_0"],
        measure: async ({ path }) => {
          if (path.endsWith("q4_0.gguf")) throw new Error("out of memory");
          return { speeds, logprobs: [-1], tokensLeftOut: 0 };
        },
      }),
    );
    expect(measured.map(({ type }) => type)).toEqual(["F32", "Q8_0"]);
    expect(failed).toEqual([{ type: "Q4_0", reason: "out of memory" }]);
  });

  test("removes its files when it is stopped, and those of a process that was killed", async () => {
    const cache = temporaryFolder();
    mkdirSync(join(cache, "optimize-99999999-abc"));
    const stop = new AbortController();
    const running = optimizeModel(
      optionsFor({
        cache,
        signal: stop.signal,
        measure: async (order, signal) => {
          stop.abort();
          return measureFile(order, signal);
        },
      }),
    );
    await expect(running).rejects.toMatchObject({ name: "AbortError" });
    expect(readdirSync(cache)).toEqual([]);
  });

  test("refuses a text of a few words", async () => {
    const running = optimizeModel(optionsFor({ text: "a few words" }));
    await expect(running).rejects.toThrow(/The text has \d+ tokens; at least 32 are needed\./);
  });

  test("refuses a vocabulary without weights", async () => {
    const { metadata } = tinyGgufContent();
    const [path = ""] = writeSplitGguf(
      { metadata, tensors: [] },
      { folder: temporaryFolder(), name: "v", count: 1 },
    );
    await expect(optimizeModel(optionsFor({ path }))).rejects.toThrow(/vocabulary without weights/);
  });
});

describe("one measurement", () => {
  const order = { numerics: "reproducible", threads: 1, wholeText: true } as const;
  const measure = (path: string, long: string) =>
    measureFile({ ...order, path, text: long }, new AbortController().signal);

  test("scores a text longer than the context in windows", async () => {
    const path = tinyGgufFile({ variant: "bytes", contextLength: 96 });
    const { logprobs } = await measure(path, text);
    const { logprobs: one } = await measure(tinyGgufFile({ variant: "bytes" }), text.slice(0, 200));
    expect(logprobs.length).toBeGreaterThan(300);
    expect(logprobs.every((value) => value <= 0)).toBe(true);
    expect(one.length).toBeGreaterThan(40);
  });

  test("leaves out what is beyond the limit, and says how much", async () => {
    const path = tinyGgufFile({ layers: 1, embedding: 32, heads: 1 });
    const { logprobs, tokensLeftOut } = await measure(path, text.repeat(40));
    expect(logprobs.length).toBeGreaterThan(16_000);
    expect(tokensLeftOut).toBeGreaterThan(0);
  });

  test.each(["gemma3", "mamba"] as const)("%s can be measured", async (variant) => {
    const { speeds: found } = await measure(tinyGgufFile({ variant }), text);
    expect(Object.values(found).every((speed) => speed > 0)).toBe(true);
  });

  test("of what is no model says why it failed", async () => {
    const path = join(temporaryFolder(), "m.gguf");
    writeFileSync(path, tinyGguf().subarray(0, 9_000));
    await expect(measure(path, text)).rejects.toThrow(/m.gguf is damaged or cut off/);
  });
});

describe("converting", () => {
  const signal = new AbortController().signal;
  const settings = { type: "q8_0", output: undefined, force: false, threads: 1, signal } as const;

  function model(name: string): string {
    const path = join(temporaryFolder(), name);
    writeFileSync(path, tinyGguf());
    return path;
  }

  test("writes beside the file, under its name with the type", async () => {
    const path = model("a.f32.gguf");
    const made = await convertFile({ ...settings, path });
    expect(made.path).toBe(join(path, "..", "a.Q8_0.gguf"));
    expect([...readGgufHeader(made.path).matrixTypes]).toEqual(["Q8_0"]);
    expect(readdirSync(join(path, "..")).toSorted()).toEqual(["a.Q8_0.gguf", "a.f32.gguf"]);
  });

  test("replaces a file only when told, and never the one it reads", async () => {
    const path = model("a.gguf");
    const output = join(path, "..", "b.gguf");
    writeFileSync(output, "precious");
    const options = { ...settings, path, output };
    await expect(convertFile(options)).rejects.toThrow(/b.gguf is there already; --force/);
    await convertFile({ ...options, force: true });
    expect([...readGgufHeader(output).matrixTypes]).toEqual(["Q8_0"]);
    const onto = convertFile({ ...options, output: path, force: true });
    await expect(onto).rejects.toThrow(/is the file that is to be converted/);
    const link = join(path, "..", "link.gguf");
    symlinkSync(path, link);
    await convertFile({ ...options, output: link, force: true });
    expect([...readGgufHeader(path).matrixTypes]).toEqual(["F32"]);
  });

  test("of a split model gives one file", async () => {
    const options = { folder: temporaryFolder(), name: "big.F32", count: 3 };
    const [, second = ""] = writeSplitGguf(tinyGgufContent(), options);
    const made = await convertFile({ ...settings, path: second });
    expect(made.path).toBe(join(options.folder, "big.Q8_0.gguf"));
    expect(readGgufHeader(made.path).splitParts).toBe(1);
  });

  test("says what is wrong with a place", async () => {
    const path = model("a.gguf");
    const to = (output: string) => convertFile({ ...settings, path, output });
    await expect(to(join(path, "..", "none", "b.gguf"))).rejects.toThrow(/there is no folder/);
    await expect(to(temporaryFolder())).rejects.toThrow(/is a folder; --output names a file/);
  });

  test("leaves nothing behind when it fails", async () => {
    const path = model("a.gguf");
    const stop = AbortSignal.abort();
    await expect(convertFile({ ...settings, path, signal: stop })).rejects.toThrow();
    expect(readdirSync(join(path, ".."))).toEqual(["a.gguf"]);
    expect(existsSync(join(path, "..", "a.Q8_0.gguf"))).toBe(false);
  });

  test.each([
    ["/m/a.gguf", "/m/a.Q8_0.gguf"],
    ["/m/a.Q4_K_M.gguf", "/m/a.Q8_0.gguf"],
    ["/m/a-q4_0.gguf", "/m/a.Q8_0.gguf"],
    ["/m/SmolLM2-135M.gguf", "/m/SmolLM2-135M.Q8_0.gguf"],
    ["/m/v1.5-00002-of-00003.gguf", "/m/v1.5.Q8_0.gguf"],
  ])("names the file made of %s", (path, made) => {
    expect(convertedPath(path, "q8_0")).toBe(made);
  });
});

test("too little space is told before anything is written", async () => {
  const checking = checkFreeSpace("/m", 5_000_000_000, "--cache", async () => 1_000_000_000);
  await expect(checking).rejects.toThrow(OptimizeError);
  await expect(checking).rejects.toThrow(/up to 5000 MB in \/m, where 1000 MB are free/);
});

describe("the types that are tried", () => {
  const of = (tensorType: "f32" | "f16" | "q8_0") => readGgufHeader(tinyGgufFile({ tensorType }));

  test("of float weights are all common ones", () => {
    expect(defaultTypes(of("f32"), "reproducible")).toEqual([
      ...["bf16", "f16", "q8_0", "q6_k", "q4_k_m", "q4_0"],
    ]);
    expect(defaultTypes(of("f16"), "fast")).toEqual(["q8_0", "q6_k", "q4_k_m", "q4_0", "iq4_nl"]);
  });

  test("of quantised weights are the smaller ones, and not the file's own", () => {
    expect(defaultTypes(of("q8_0"), "reproducible")).toEqual(["q6_k", "q4_k_m", "q4_0"]);
  });

  test("take no more bytes than is estimated", async () => {
    const path = tinyGgufFile({ embedding: 256 });
    const header = readGgufHeader(path);
    const signal = new AbortController().signal;
    for (const type of ["q8_0", "q6_k", "q4_k_m", "q4_0", "q3_k_m", "q2_k", "bf16"] as const) {
      const output = join(temporaryFolder(), "m.gguf");
      const options = { path, type, output, force: false, threads: 1, signal };
      const { bytes } = await convertFile(options);
      expect(bytes).toBeLessThanOrEqual(estimateBytes(header, type));
    }
  });
});
