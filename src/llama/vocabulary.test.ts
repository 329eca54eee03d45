import { afterAll, describe, expect, test } from "vitest";
import { TableVocabulary } from "../engine/vocabulary-table.ts";
import { openLibrary } from "./library.ts";
import { Model } from "./model.ts";
import { type TinyVariant, tinyGgufFile } from "./testing/tiny-gguf.ts";
import { tokenize, tokenizeApart } from "./tokenizer.ts";
import { readVocabulary } from "./vocabulary.ts";

const library = openLibrary({ silent: true });
const models = new Map<TinyVariant, Model>();
afterAll(() => {
  for (const model of models.values()) model.free();
});

function modelOf(variant: TinyVariant): Model {
  let model = models.get(variant);
  model ??= Model.load(library, { path: tinyGgufFile({ variant }), vocabularyOnly: true });
  models.set(variant, model);
  return model;
}

function vocabularyOf(variant: TinyVariant): TableVocabulary {
  return new TableVocabulary(readVocabulary(modelOf(variant)));
}

function textOf(vocabulary: TableVocabulary, tokens: readonly number[]): string {
  return Buffer.concat(tokens.map((token) => vocabulary.bytes(token))).toString();
}

const texts = [
  "Say this is a test",
  "  two  spaces",
  "naïve 日本語 🙂",
  "line\nbreak\ttab",
  "\u0000",
];

describe("tokens of a text", () => {
  test.each(["plain", "bytes", "gemma3"] as const)("%s: join to the text again", (variant) => {
    const vocabulary = vocabularyOf(variant);
    for (const text of texts) {
      const tokens = tokenize(modelOf(variant), text, { addSpecial: false, parseSpecial: false });
      const joined = textOf(vocabulary, tokens);
      // SentencePiece vocabularies put a space in front of a text.
      expect([text, ` ${text}`]).toContain(joined);
    }
  });

  test("an empty text has none but BOS, where the model wants it", () => {
    const options = { addSpecial: true, parseSpecial: false };
    for (const variant of ["plain", "bytes"] as const) {
      const { addsBos, bos } = vocabularyOf(variant);
      expect(tokenize(modelOf(variant), "", options)).toEqual(addsBos ? [bos] : []);
    }
    expect(vocabularyOf("bytes").addsBos).toBe(true);
  });

  test("BOS comes once when the text begins with it", () => {
    const vocabulary = vocabularyOf("bytes");
    const { bos } = vocabulary;
    const name = textOf(vocabulary, [bos ?? -1]);
    const options = { addSpecial: true, parseSpecial: true };
    const plain = tokenize(modelOf("bytes"), "text", options);
    expect(plain[0]).toBe(bos);
    const named = tokenize(modelOf("bytes"), `${name}text`, options);
    expect(named.filter((token) => token === bos)).toHaveLength(1);
    expect(named[0]).toBe(bos);
  });

  test("names of special tokens are text unless they are asked for", () => {
    const vocabulary = vocabularyOf("fim");
    const special = Array.from({ length: vocabulary.size }, (_, token) => token).find((token) =>
      vocabulary.isSpecial(token),
    );
    const name = textOf(vocabulary, [special ?? -1]);
    const split = (parseSpecial: boolean): number[] =>
      tokenize(modelOf("fim"), name, { addSpecial: false, parseSpecial });
    expect(split(true)).toEqual([special]);
    expect(split(false).length).toBeGreaterThan(1);
    expect(vocabulary.specialToken(name)).toBe(special);
  });

  test("long repetitive texts do not exhaust the stack", () => {
    const vocabulary = vocabularyOf("plain");
    for (const text of ["a".repeat(300_000), " ".repeat(300_000), "é1\n".repeat(100_000)]) {
      const tokens = tokenize(modelOf("plain"), text, { addSpecial: false, parseSpecial: true });
      expect(textOf(vocabulary, tokens) === text).toBe(true);
    }
  });
});

describe("on a thread of its own", () => {
  test.each(["plain", "bytes", "gemma3"] as const)("%s: the same tokens", async (variant) => {
    const model = modelOf(variant);
    const long = ["ab ".repeat(3000), "é".repeat(2000), "<|im_end|>".repeat(300)];
    for (const text of [...texts, ...long]) {
      for (const addSpecial of [true, false]) {
        const options = { addSpecial, parseSpecial: true };
        expect(await tokenizeApart(model, text, options)).toEqual(tokenize(model, text, options));
      }
    }
  });

  test("long repetitive texts do not exhaust the stack", async () => {
    const text = "a".repeat(200_000);
    const options = { addSpecial: false, parseSpecial: false };
    const tokens = await tokenizeApart(modelOf("plain"), text, options);
    expect(textOf(vocabularyOf("plain"), tokens)).toBe(text);
  });

  test("the calling thread goes on meanwhile", async () => {
    let turns = 0;
    let done = false;
    const options = { addSpecial: false, parseSpecial: true };
    const slow = tokenizeApart(modelOf("plain"), "<|im_end|>".repeat(8000), options);
    void slow.then(() => {
      done = true;
    });
    while (!done) {
      turns += 1;
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(turns).toBeGreaterThan(10);
  });
});

describe("the vocabulary", () => {
  test("byte tokens give their one byte", () => {
    const vocabulary = vocabularyOf("bytes");
    const single = new Set<number>();
    for (let token = 0; token < vocabulary.size; token += 1) {
      const bytes = vocabulary.bytes(token);
      if (bytes.length === 1 && !vocabulary.isSpecial(token)) single.add(bytes[0] ?? -1);
    }
    expect(single.size).toBe(256);
  });

  test("every model has an end, and a token that opens a document", () => {
    for (const variant of ["plain", "fim", "bytes", "gemma3", "mamba"] as const) {
      const vocabulary = vocabularyOf(variant);
      const { eos } = vocabulary;
      if (eos === undefined) throw new Error(`${variant} has no EOS`);
      expect(vocabulary.isEndOfGeneration(eos)).toBe(true);
      const named = vocabulary.specialToken("<|endoftext|>");
      expect(vocabulary.documentStart).toBe(named ?? vocabulary.bos ?? eos);
    }
  });

  test("infill markers are found where the vocabulary has them", () => {
    expect(vocabularyOf("plain").infill).toBeUndefined();
    const vocabulary = vocabularyOf("fim");
    const { infill } = vocabulary;
    if (infill === undefined) throw new Error("no infill tokens");
    expect(textOf(vocabulary, [infill.prefix])).toContain("prefix");
    expect(textOf(vocabulary, [infill.suffix])).toContain("suffix");
    expect(textOf(vocabulary, [infill.middle])).toContain("middle");
  });
});
