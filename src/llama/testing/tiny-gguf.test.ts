import { createHash } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { afterAll, describe, expect, test } from "vitest";
import { TableVocabulary } from "../../engine/vocabulary-table.ts";
import type { Row } from "../../scheduler/backend.ts";
import { readGgufHeader } from "../gguf-header.ts";
import { openLibrary } from "../library.ts";
import { LlamaBackend } from "../llama-backend.ts";
import { Model } from "../model.ts";
import { planNumerics } from "../numerics.ts";
import { tokenize } from "../tokenizer.ts";
import { readVocabulary } from "../vocabulary.ts";
import { TINY_VARIANTS, type TinyGgufOptions, tinyGguf, tinyGgufFile } from "./tiny-gguf.ts";

const library = openLibrary({ silent: true });
const opened: { close(): void }[] = [];
afterAll(() => {
  for (const one of opened.reverse()) one.close();
});

function load(options: TinyGgufOptions): Model {
  const model = Model.load(library, { path: tinyGgufFile(options) });
  opened.push({ close: () => model.free() });
  return model;
}

function hashOf(options: TinyGgufOptions): string {
  return createHash("sha256").update(tinyGguf(options)).digest("hex");
}

/** The likeliest token after a text, again and again, up to the end of the document. */
function greedy(model: Model, text: string, most: number): { tokens: number[]; ended: boolean } {
  const numerics = planNumerics("fast", new Set());
  const sizes = { contextLength: 256, slots: 1, threads: 1 };
  const backend = new LlamaBackend({ model, numerics, ...sizes });
  const vocabulary = new TableVocabulary(readVocabulary(model));
  const tokens: number[] = [];
  let next = tokenize(model, text, { addSpecial: true, parseSpecial: false });
  try {
    for (let position = 0; tokens.length < most; position += next.length) {
      if (tokens.length > 0) next = tokens.slice(-1);
      const rows: Row[] = next.map((token, row) => {
        return { token, position: position + row, sequence: 0, logits: row === next.length - 1 };
      });
      backend.decode(rows);
      const logits = backend.logits(rows.length - 1);
      expect(logits.every(Number.isFinite)).toBe(true);
      const best = logits.indexOf(Math.max(...logits));
      if (vocabulary.isEndOfGeneration(best)) return { tokens, ended: true };
      tokens.push(best);
    }
    return { tokens, ended: false };
  } finally {
    backend.close();
  }
}

describe("the file", () => {
  test.each(TINY_VARIANTS)("%s: the same options give the same bytes, others others", (variant) => {
    const hash = hashOf({ variant });
    expect(hashOf({ variant })).toBe(hash);
    expect(hashOf({ variant, seed: 2 })).not.toBe(hash);
    expect(hashOf({ variant, tensorType: "q8_0" })).not.toBe(hash);
  });

  test.each(TINY_VARIANTS)("%s: is below a megabyte and reused once written", (variant) => {
    const path = tinyGgufFile({ variant });
    expect(tinyGgufFile({ variant })).toBe(path);
    expect(statSync(path).size).toBeLessThan(1_000_000);
    expect(readFileSync(path).equals(tinyGguf({ variant }))).toBe(true);
  });

  test.each([
    [{}, "F32"],
    [{ tensorType: "f16" }, "F16"],
    [{ tensorType: "q8_0" }, "Q8_0"],
  ] as const)("%j: has matrices of that type", (options, type) => {
    expect([...readGgufHeader(tinyGgufFile(options)).matrixTypes]).toEqual([type]);
  });

  test.each([
    [{ embedding: 48 }, /embedding/],
    [{ embedding: 64, heads: 64 }, /embedding/],
    [{ heads: 0 }, /heads/],
    [{ layers: 1.5 }, /layers/],
    [{ contextLength: -1 }, /contextLength/],
    [{ seed: Number.NaN }, /seed/],
  ] as const)("%j: is refused by name", (options, message) => {
    expect(() => tinyGguf(options)).toThrow(RangeError);
    expect(() => tinyGguf(options)).toThrow(message);
  });
});

describe("the model", () => {
  test.each(TINY_VARIANTS)("%s: loads and says what was asked for", (variant) => {
    const { facts } = load({ variant, layers: 3, contextLength: 4096 });
    expect(facts.layers).toBe(3);
    expect(facts.trainedContextLength).toBe(4096);
    expect(facts.isRecurrent).toBe(variant === "mamba");
    expect(facts.slidingWindow > 0).toBe(variant === "gemma3");
  });

  test.each(TINY_VARIANTS)(
    "%s: greedy text varies with the prompt and within itself",
    (variant) => {
      const model = load({ variant });
      const prompts = [
        "The old man",
        "She opened the box",
        "for (const value",
        "It was raining and",
      ];
      const texts = prompts.map((prompt) => greedy(model, prompt, 24).tokens);
      expect(new Set(texts.map((tokens) => tokens.join())).size).toBe(prompts.length);
      expect(new Set(texts.flat()).size).toBeGreaterThan(20);
    },
  );

  test.each(TINY_VARIANTS)("%s: greedy text ends by itself now and then", (variant) => {
    const model = load({ variant });
    const prompts = Array.from({ length: 30 }, (_, index) => `The ${index} old men of the river`);
    const ended = prompts.filter((prompt) => greedy(model, prompt, 40).ended).length;
    expect(ended).toBeGreaterThan(0);
    expect(ended).toBeLessThan(prompts.length);
  });
});

describe("the vocabulary", () => {
  /** Every code point but surrogates, in lines of 512. */
  function* allOfUnicode(): Generator<string> {
    for (let from = 0; from < 0x110000; from += 512) {
      if (from >= 0xd800 && from < 0xe000) continue;
      yield String.fromCodePoint(...Array.from({ length: 512 }, (_, offset) => from + offset));
    }
  }

  test.each([
    ["plain", ""],
    ["bytes", " "],
    ["gemma3", ""],
  ] as const)("%s: tokens of any text join to its bytes, after %j", (variant, inFront) => {
    const model = load({ variant });
    const vocabulary = new TableVocabulary(readVocabulary(model));
    for (const line of allOfUnicode()) {
      // Vocabularies of pieces store a space as U+2581 and cannot tell the two apart.
      const text = variant === "plain" ? line : line.replaceAll("\u2581", " ");
      const tokens = tokenize(model, text, { addSpecial: false, parseSpecial: false });
      const joined = Buffer.concat(tokens.map((token) => vocabulary.bytes(token)));
      expect(joined.equals(Buffer.from(inFront + text))).toBe(true);
    }
  });

  test("plain: has tokens that end, and that begin, inside a character", () => {
    const vocabulary = new TableVocabulary(readVocabulary(load({})));
    const continues = (byte: number | undefined): boolean => ((byte ?? 0) & 0xc0) === 0x80;
    const several = Array.from({ length: vocabulary.size }, (_, token) => token)
      .map((token) => vocabulary.bytes(token))
      .filter((bytes) => bytes.length > 1);
    const decoder = new TextDecoder("utf-8", { fatal: true });
    const isText = (bytes: Uint8Array): boolean => {
      try {
        return decoder.decode(bytes) !== "";
      } catch {
        return false;
      }
    };
    expect(several.filter((bytes) => !continues(bytes[0]) && !isText(bytes))).not.toEqual([]);
    expect(several.filter((bytes) => continues(bytes[0]))).not.toEqual([]);
  });

  test("fim: has the three markers, plain has none", () => {
    const { infill } = new TableVocabulary(readVocabulary(load({ variant: "fim" })));
    const names = [infill?.prefix, infill?.suffix, infill?.middle];
    expect(new Set(names).size).toBe(3);
    expect(names).not.toContain(undefined);
    expect(new TableVocabulary(readVocabulary(load({}))).infill).toBeUndefined();
  });

  test("a user-defined token is found in text and is no special token", () => {
    const model = load({});
    const vocabulary = new TableVocabulary(readVocabulary(model));
    const [note] = tokenize(model, "<note>", { addSpecial: false, parseSpecial: false });
    expect(Buffer.from(vocabulary.bytes(note ?? -1)).toString()).toBe("<note>");
    expect(vocabulary.isSpecial(note ?? -1)).toBe(false);
  });
});
