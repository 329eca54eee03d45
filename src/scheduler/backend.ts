/**
 * What the scheduler steps: a few calls over numbered sequences. libllama implements it in llama/,
 * a fake in scheduler/testing for the tests. All calls are synchronous and come from one thread.
 */
export interface Backend {
  /** Sequence ids are 0 .. sequences - 1. */
  readonly sequences: number;
  /** Tokens one sequence can hold. */
  readonly contextLength: number;
  readonly vocabularySize: number;
  /** Rows one `decode` takes. */
  readonly rowsMax: number;
  /**
   * Evaluates rows. Rows of one sequence stand together, with rising positions that continue what
   * the sequence holds. Throws when the library refuses; the sequences touched are then undefined.
   */
  decode(rows: readonly Row[]): void;
  /** Logits of row `index` of the last `decode` (which asked for them); valid until the next. */
  logits(index: number): Float32Array;
  /** Makes sequence `to` equal to `from`; what `to` held before is gone. */
  copySequence(from: number, to: number): void;
  /**
   * Keeps positions 0 .. length - 1. False when the model cannot cut there (recurrent state,
   * sliding window): the sequence is then unchanged. Length 0 always works.
   */
  trimSequence(sequence: number, length: number): boolean;
  /** Tokens a sequence holds by the library's own count, for checks. */
  sequenceLength?(sequence: number): number;
}

export interface Row {
  readonly token: number;
  readonly position: number;
  readonly sequence: number;
  readonly logits: boolean;
}
