/**
 * A backend without a model: the logits of a row are a hash of the tokens up to it, so that equal
 * contexts give equal rows whatever slot, chunk or batch they came in. It checks what the real one
 * would only corrupt: positions that do not continue, sequences out of range, too many rows.
 */
import type { Backend, Row } from "../backend.ts";

export interface FakeBackendOptions {
  readonly sequences?: number;
  readonly contextLength?: number;
  readonly vocabularySize?: number;
  readonly rowsMax?: number;
}

export class FakeBackend implements Backend {
  readonly sequences: number;
  readonly contextLength: number;
  readonly vocabularySize: number;
  readonly rowsMax: number;
  /** What each sequence holds. */
  readonly contents: number[][];
  /** Rows of each call, oldest first. */
  readonly calls: Row[][] = [];
  #rows: (Float32Array | undefined)[] = [];

  constructor(options: FakeBackendOptions = {}) {
    this.sequences = options.sequences ?? 4;
    this.contextLength = options.contextLength ?? 256;
    this.vocabularySize = options.vocabularySize ?? 50;
    this.rowsMax = options.rowsMax ?? 64;
    this.contents = Array.from({ length: this.sequences }, () => []);
  }

  decode(rows: readonly Row[]): void {
    if (rows.length === 0 || rows.length > this.rowsMax) {
      throw new Error(`a call takes 1 to ${this.rowsMax} rows, not ${rows.length}`);
    }
    this.calls.push([...rows]);
    this.#rows = rows.map((row) => {
      const content = this.#content(row.sequence);
      if (row.position !== content.length) {
        throw new Error(
          `sequence ${row.sequence} continues at ${content.length}, not ${row.position}`,
        );
      }
      if (content.length >= this.contextLength) throw new Error("the sequence is full");
      content.push(row.token);
      return row.logits ? fakeLogits(content, this.vocabularySize) : undefined;
    });
  }

  logits(index: number): Float32Array {
    const row = this.#rows[index];
    if (row === undefined) throw new Error(`row ${index} has no logits`);
    return row;
  }

  copySequence(from: number, to: number): void {
    this.contents[to] = [...this.#content(from)];
  }

  trimSequence(sequence: number, length: number): boolean {
    const content = this.#content(sequence);
    if (content.length < length) throw new Error(`sequence ${sequence} has no ${length} tokens`);
    content.length = length;
    return true;
  }

  #content(sequence: number): number[] {
    const content = this.contents[sequence];
    if (content === undefined) throw new Error(`there is no sequence ${sequence}`);
    return content;
  }
}

/** Logits after a context: a pure function of its tokens. */
export function fakeLogits(context: readonly number[], vocabularySize: number): Float32Array {
  let state = 0x9e3779b9;
  for (const token of context) state = Math.imul(state ^ token, 0x85ebca6b) ^ (state >>> 15);
  const logits = new Float32Array(vocabularySize);
  for (let token = 0; token < vocabularySize; token++) {
    let mixed = Math.imul(state ^ Math.imul(token + 1, 0xc2b2ae35), 0x27d4eb2f);
    mixed ^= mixed >>> 15;
    logits[token] = ((mixed >>> 8) / 0x1000000) * 8 - 4;
  }
  return logits;
}
