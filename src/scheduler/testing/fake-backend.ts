/**
 * A backend without a model: the logits of a row are a hash of the tokens up to it, so that equal
 * contexts give equal rows whatever slot, chunk or batch they came in. As in the real one, a row
 * computed alone differs from a row among several of its sequence. It checks what the real one
 * would only corrupt: positions that do not continue, sequences out of range, too many rows.
 */
import type { Backend, Row } from "../backend.ts";

export interface FakeBackendOptions {
  readonly sequences?: number;
  readonly contextLength?: number;
  readonly vocabularySize?: number;
  readonly rowsMax?: number;
  /** False: as with recurrent state, only emptying a sequence works. */
  readonly cutsAnywhere?: boolean;
  /** False: lone rows are like others. */
  readonly loneRowsDiffer?: boolean;
}

/** What a sequence holds at a position. */
export interface FakeCell {
  readonly token: number;
  readonly lone: boolean;
}

export class FakeBackend implements Backend {
  readonly sequences: number;
  readonly contextLength: number;
  readonly vocabularySize: number;
  readonly rowsMax: number;
  readonly #cutsAnywhere: boolean;
  readonly #loneRowsDiffer: boolean;
  /** What each sequence holds. */
  readonly contents: FakeCell[][];
  /** Rows of each call, oldest first. */
  readonly calls: Row[][] = [];
  copies = 0;
  #rows: (Float32Array | undefined)[] = [];

  constructor(options: FakeBackendOptions = {}) {
    this.sequences = options.sequences ?? 4;
    this.contextLength = options.contextLength ?? 256;
    this.vocabularySize = options.vocabularySize ?? 50;
    this.rowsMax = options.rowsMax ?? 64;
    this.#cutsAnywhere = options.cutsAnywhere ?? true;
    this.#loneRowsDiffer = options.loneRowsDiffer ?? true;
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
        const { sequence, position } = row;
        throw new Error(`sequence ${sequence} continues at ${content.length}, not ${position}`);
      }
      if (content.length > this.contextLength) throw new Error("the sequence is full");
      const alone = rows.filter((other) => other.sequence === row.sequence).length === 1;
      content.push({ token: row.token, lone: alone && this.#loneRowsDiffer });
      return row.logits ? fakeLogits(content, this.vocabularySize) : undefined;
    });
  }

  logits(index: number): Float32Array {
    const row = this.#rows[index];
    if (row === undefined) throw new Error(`row ${index} has no logits`);
    return row;
  }

  copySequence(from: number, to: number): void {
    this.copies += 1;
    this.contents[to] = [...this.#content(from)];
  }

  trimSequence(sequence: number, length: number): boolean {
    const content = this.#content(sequence);
    if (content.length < length) throw new Error(`sequence ${sequence} has no ${length} tokens`);
    if (!this.#cutsAnywhere && length > 0 && length < content.length) return false;
    content.length = length;
    return true;
  }

  sequenceLength(sequence: number): number {
    return this.#content(sequence).length;
  }

  #content(sequence: number): FakeCell[] {
    const content = this.contents[sequence];
    if (content === undefined) throw new Error(`there is no sequence ${sequence}`);
    return content;
  }
}

/** Logits after a context: a pure function of its cells. */
export function fakeLogits(context: readonly FakeCell[], vocabularySize: number): Float32Array {
  let state = 0x9e3779b9;
  for (const { token, lone } of context) {
    state = Math.imul(state ^ (2 * token + Number(lone)), 0x85ebca6b) ^ (state >>> 15);
  }
  const logits = new Float32Array(vocabularySize);
  for (let token = 0; token < vocabularySize; token++) {
    let mixed = Math.imul(state ^ Math.imul(token + 1, 0xc2b2ae35), 0x27d4eb2f);
    mixed ^= mixed >>> 15;
    logits[token] = ((mixed >>> 8) / 0x1000000) * 8 - 4;
  }
  return logits;
}
