import { afterEach, describe, expect, test } from "vitest";
import type { Row } from "../scheduler/backend.ts";
import { DecodeError } from "./decode-error.ts";
import { readGgufHeader } from "./gguf-header.ts";
import { openLibrary } from "./library.ts";
import { type BackendOptions, LlamaBackend } from "./llama-backend.ts";
import { Model } from "./model.ts";
import { type NumericsMode, planNumerics } from "./numerics.ts";
import { type TinyGgufOptions, tinyGgufFile } from "./testing/tiny-gguf.ts";

const library = openLibrary({ silent: true });
const opened: { close(): void }[] = [];
afterEach(() => {
  for (const one of opened.splice(0).reverse()) one.close();
});

function open(
  tiny: TinyGgufOptions,
  mode: NumericsMode = "reproducible",
  options: Partial<BackendOptions> = {},
): LlamaBackend {
  const path = tinyGgufFile(tiny);
  const numerics = planNumerics(mode, readGgufHeader(path).matrixTypes);
  const model = Model.load(library, { path, repackWeights: numerics.repackWeights });
  opened.push({ close: () => model.free() });
  const sizes = { contextLength: 256, slots: 4, threads: 1 };
  const backend = new LlamaBackend({ model, numerics, ...sizes, ...options });
  opened.push(backend);
  return backend;
}

const prompt = Array.from({ length: 40 }, (_, index) => 30 + ((index * 7) % 50));

function rowsOf(tokens: readonly number[], sequence: number, from = 0): Row[] {
  return tokens.map((token, index) => ({ token, position: from + index, sequence, logits: true }));
}

/** Decodes and copies the bytes of all logits. */
function evaluate(backend: LlamaBackend, rows: readonly Row[]): Buffer[] {
  backend.decode(rows);
  return rows.map((_, index) => {
    const { buffer, byteOffset, byteLength } = backend.logits(index);
    return Buffer.from(Buffer.from(buffer, byteOffset, byteLength));
  });
}

describe("a step", () => {
  test("gives a finite row of the vocabulary's size for each row that asks", () => {
    const backend = open({});
    const rows = rowsOf(prompt, 0).map((row, index) => ({ ...row, logits: index % 2 === 0 }));
    backend.decode(rows);
    const logits = backend.logits(38);
    expect(logits).toHaveLength(backend.vocabularySize);
    expect(logits.every(Number.isFinite)).toBe(true);
    expect(() => backend.logits(39)).toThrow(RangeError);
    expect(() => backend.logits(40)).toThrow(RangeError);
  });

  test("numbers logits by the caller's rows, whatever order the sequences come in", () => {
    const backend = open({ tensorType: "q8_0" });
    const alone = evaluate(backend, rowsOf(prompt, 0));
    const other = evaluate(backend, rowsOf(prompt.toReversed(), 1));
    for (const sequence of [0, 1]) backend.trimSequence(sequence, 0);
    const rows = [...rowsOf(prompt.toReversed(), 3), ...rowsOf(prompt, 2)];
    expect(evaluate(backend, rows)).toEqual([...other, ...alone]);
  });

  test("refuses what does not fit, and says why", () => {
    const backend = open({}, "fast", { rowsMax: 64 });
    expect(() => backend.decode([])).toThrow(RangeError);
    expect(() => backend.decode(rowsOf(Array<number>(65).fill(1), 0))).toThrow(/1 to 64 rows/);
    expect(() => backend.decode(rowsOf([1], 4))).toThrow(/no sequence 4/);
    expect(() => backend.decode(rowsOf([1_000_000], 0))).toThrow(/not valid/);
    backend.decode(rowsOf(prompt, 0));
    expect(() => backend.decode(rowsOf([1], 0, 90))).toThrow(DecodeError);
  });

  test("a full sequence has no room", () => {
    const backend = open({}, "fast", { contextLength: 256, slots: 1 });
    for (let from = 0; from < 256; from += 64) {
      backend.decode(rowsOf(Array<number>(64).fill(40), 0, from));
    }
    expect(() => backend.decode(rowsOf([40], 0, 256))).toThrow(/no room/);
    expect(backend.trimSequence(0, 0)).toBe(true);
    expect(() => backend.decode(rowsOf(prompt, 0))).not.toThrow();
  });

  test("gives the same bits with another number of threads", () => {
    const backend = open({ tensorType: "q8_0" });
    const one = evaluate(backend, rowsOf(prompt, 0));
    backend.setThreads(2);
    backend.trimSequence(0, 0);
    expect(evaluate(backend, rowsOf(prompt, 0))).toEqual(one);
  });
});

describe("sequences", () => {
  test.each(["f32", "f16", "q8_0"] as const)(
    "%s: a copy cut back goes on with the bits of a fresh one",
    (tensorType) => {
      const backend = open({ tensorType });
      const next = prompt.slice(5, 10);
      backend.decode(rowsOf(prompt.slice(0, 25), 0));
      const fresh = evaluate(backend, rowsOf(next, 0, 25));
      backend.trimSequence(0, 0);
      backend.decode(rowsOf(prompt, 1));
      backend.decode(rowsOf(prompt.toReversed(), 2));
      backend.copySequence(1, 2);
      expect(backend.trimSequence(2, 25)).toBe(true);
      expect(backend.sequenceLength(2)).toBe(25);
      expect(backend.sequenceLength(1)).toBe(40);
      expect(evaluate(backend, rowsOf(next, 2, 25))).toEqual(fresh);
    },
  );

  test("copying a sequence onto itself keeps it", () => {
    const backend = open({});
    backend.decode(rowsOf(prompt, 0));
    backend.copySequence(0, 0);
    expect(backend.sequenceLength(0)).toBe(40);
  });

  test("copying an empty sequence empties the target", () => {
    const backend = open({});
    backend.decode(rowsOf(prompt, 1));
    backend.copySequence(0, 1);
    expect(backend.sequenceLength(1)).toBe(0);
  });

  test("sliding windows can be cut back like any other", () => {
    const backend = open({ variant: "gemma3", tensorType: "q8_0" });
    const next = prompt.slice(5, 10);
    backend.decode(rowsOf(prompt.slice(0, 12), 0));
    const fresh = evaluate(backend, rowsOf(next, 0, 12));
    backend.decode(rowsOf(prompt, 1));
    expect(backend.trimSequence(1, 12)).toBe(true);
    expect(evaluate(backend, rowsOf(next, 1, 12))).toEqual(fresh);
  });

  test("recurrent state can be emptied and copied, not cut", () => {
    const backend = open({ variant: "mamba" });
    backend.decode(rowsOf(prompt, 0));
    expect(backend.trimSequence(0, 20)).toBe(false);
    expect(backend.sequenceLength(0)).toBe(40);
    expect(backend.trimSequence(0, 40)).toBe(true);
    backend.copySequence(0, 1);
    const next = prompt.slice(0, 2);
    const original = evaluate(backend, rowsOf(next, 0, 40));
    expect(evaluate(backend, rowsOf(next, 1, 40))).toEqual(original);
    expect(backend.trimSequence(0, 0)).toBe(true);
    expect(backend.sequenceLength(0)).toBe(0);
  });
});

describe("numerics", () => {
  /** Logits of each row of `prompt` after the first ten, generated row by row. */
  function generated(backend: LlamaBackend, sequence: number, paired: boolean): Buffer[] {
    backend.decode(rowsOf(prompt.slice(0, 10), sequence));
    return prompt.slice(10).map((token, index) => {
      const position = 10 + index;
      const rows = rowsOf(paired ? [token, token] : [token], sequence, position);
      const [first] = evaluate(backend, rows);
      if (paired) backend.trimSequence(sequence, position + 1);
      return first ?? Buffer.alloc(0);
    });
  }

  test.each(["f32", "f16", "q8_0"] as const)(
    "exact, %s: generating a text and scoring it agree to the bit",
    (tensorType) => {
      const backend = open({ tensorType }, "exact");
      const scored = evaluate(backend, rowsOf(prompt, 0)).slice(10);
      expect(generated(backend, 1, true)).toEqual(scored);
    },
  );

  test.each(["f32", "q8_0"] as const)(
    "reproducible, %s: neighbours change no bit",
    (tensorType) => {
      const backend = open({ tensorType });
      const path = tinyGgufFile({ tensorType });
      const { pairDecodeRows } = planNumerics("reproducible", readGgufHeader(path).matrixTypes);
      const alone = generated(backend, 1, pairDecodeRows);
      for (const sequence of [0, 1, 2, 3]) {
        backend.trimSequence(sequence, 0);
        backend.decode(rowsOf(prompt.slice(0, 10), sequence));
      }
      const crowded = prompt.slice(10).map((token, index) => {
        const position = 10 + index;
        const copies = pairDecodeRows ? [token, token] : [token];
        const rows = [2, 0, 1, 3].flatMap((sequence) => rowsOf(copies, sequence, position));
        const all = evaluate(backend, rows);
        if (pairDecodeRows) {
          for (const sequence of [0, 1, 2, 3]) backend.trimSequence(sequence, position + 1);
        }
        return all[2 * copies.length];
      });
      expect(crowded).toEqual(alone);
    },
  );

  test.each(["f32", "f16", "q8_0"] as const)(
    "exact, %s: a prompt's last row is the same whether it alone or every row has logits",
    (tensorType) => {
      const backend = open({ tensorType }, "exact");
      const all = evaluate(backend, rowsOf(prompt, 0));
      const lastOnly = rowsOf(prompt, 1).map((row) => ({ ...row, logits: row.position === 39 }));
      backend.decode(lastOnly);
      const { buffer, byteOffset, byteLength } = backend.logits(39);
      expect(Buffer.from(buffer, byteOffset, byteLength).equals(all[39] ?? Buffer.of())).toBe(true);
    },
  );

  test("a quantised cache of values is for fast numerics only", () => {
    const types = { keyType: "q8_0", valueType: "q8_0" } as const;
    expect(() => open({}, "reproducible", types)).toThrow(/numerics fast/);
    const backend = open({}, "fast", types);
    expect(() => backend.decode(rowsOf(prompt, 0))).not.toThrow();
  });
});
