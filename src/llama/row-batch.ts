/**
 * The `llama_batch` of a backend: one set of typed arrays, filled anew for every step. The library
 * reads them through their addresses, so they are allocated once and never replaced.
 */
import koffi from "koffi";
import type { Row } from "../scheduler/backend.ts";
import type { Batch } from "./layouts.ts";

export class RowBatch {
  readonly #tokens: Int32Array;
  readonly #positions: Int32Array;
  readonly #sequences: Int32Array;
  readonly #outputs: Int8Array;
  /** Arrays that the library reads and that never change; the field keeps them alive. */
  readonly constantArrays: readonly ArrayBufferView[];
  /** Where row `index` of the caller stands in the batch. */
  readonly #places: Int32Array;
  readonly #nextPlace: Int32Array;
  readonly #batch: Batch;
  readonly #outputRowsMin: number;

  /** `outputRowsMin` 2: a row that alone asks for logits gets a second one beside it. */
  constructor(rowsMax: number, sequences: number, outputRowsMin: 1 | 2) {
    this.#outputRowsMin = outputRowsMin;
    // Buffers made this way lie outside the JavaScript heap and do not move.
    const int32s = (): Int32Array<ArrayBuffer> => new Int32Array(new ArrayBuffer(rowsMax * 4));
    this.#tokens = int32s();
    this.#positions = int32s();
    this.#sequences = int32s();
    this.#outputs = new Int8Array(new ArrayBuffer(rowsMax));
    this.#places = int32s();
    this.#nextPlace = new Int32Array(sequences + 1);
    const sequenceCounts = int32s().fill(1);
    const sequencePointers = new BigUint64Array(new ArrayBuffer(rowsMax * 8));
    const first = koffi.address(this.#sequences);
    for (let row = 0; row < rowsMax; row += 1) sequencePointers[row] = first + BigInt(4 * row);
    this.constantArrays = [sequenceCounts, sequencePointers];
    this.#batch = {
      n_tokens: 0,
      token: koffi.address(this.#tokens),
      embd: null,
      pos: koffi.address(this.#positions),
      n_seq_id: koffi.address(sequenceCounts),
      seq_id: koffi.address(sequencePointers),
      logits: koffi.address(this.#outputs),
    };
  }

  /**
   * The batch for these rows; valid until the next call. Sequences are put in rising order, since
   * the library evaluates only runs of rising, gapless sequence ids together.
   */
  fill(rows: readonly Row[]): Batch {
    const next = this.#countRows(rows);
    let outputs = 0;
    let output = 0;
    for (let index = 0; index < rows.length; index += 1) {
      const row = rows[index];
      if (row === undefined) continue;
      const place = next[row.sequence] ?? 0;
      next[row.sequence] = place + 1;
      this.#places[index] = place;
      this.#tokens[place] = row.token;
      this.#positions[place] = row.position;
      this.#sequences[place] = row.sequence;
      this.#outputs[place] = row.logits ? 1 : 0;
      if (row.logits) {
        outputs += 1;
        output = place;
      }
    }
    this.#batch.n_tokens = rows.length;
    if (outputs === 1 && this.#outputRowsMin > 1) this.#addOutput(output, rows.length);
    return this.#batch;
  }

  /** First place of each sequence, when sequences follow each other by number. */
  #countRows(rows: readonly Row[]): Int32Array {
    const next = this.#nextPlace.fill(0);
    for (const row of rows) {
      const { sequence } = row;
      if (!(sequence >= 0 && sequence < next.length - 1)) {
        throw new RangeError(`there is no sequence ${sequence}`);
      }
      next[sequence + 1] = (next[sequence + 1] ?? 0) + 1;
    }
    for (let sequence = 1; sequence < next.length; sequence += 1) {
      next[sequence] = (next[sequence] ?? 0) + (next[sequence - 1] ?? 0);
    }
    return next;
  }

  /** A neighbour of the same sequence is computed together with the row; another might not be. */
  #addOutput(place: number, rows: number): void {
    const sequence = this.#sequences[place];
    const neighbours = [place - 1, place + 1].filter((other) => other >= 0 && other < rows);
    const same = neighbours.find((other) => this.#sequences[other] === sequence);
    const chosen = same ?? neighbours[0];
    if (chosen !== undefined) this.#outputs[chosen] = 1;
  }

  /** The place in the batch of row `index` of the last `fill`. */
  placeOf(index: number): number {
    if (!(index >= 0 && index < this.#batch.n_tokens)) {
      throw new RangeError(`the last step had no row ${index}`);
    }
    return this.#places[index] ?? 0;
  }
}
