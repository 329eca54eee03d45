/**
 * How many prompt rows one step reads. A step is kept short, because messages (new requests,
 * cancellations) are read only between steps; and a lone row is avoided, because kernels for one
 * row add in another order than kernels for several, which would change the bits of the answer.
 */

/** Prompt work of one step aims at this while candidates wait for their next token. */
export const stepPromptMsMax = 100;
/** The aim when nobody waits but messages: longer chunks read faster. */
export const lonePromptMsMax = 250;
/** Logits of this many rows are kept at once while a prompt is scored. */
export const scoredRowsMax = 128;
const rowsMin = 16;
const tileRows = 16;
/** Weight of the newest measurement in the running mean. */
const smoothing = 0.3;

/**
 * Rows to read next out of `remaining`, at most about `wanted` of them, leaving no lone row. Parts
 * of equal size: a small rest would cost nearly as much as a whole part.
 */
export function chunkRows(remaining: number, wanted: number): number {
  const even = Math.ceil(remaining / Math.ceil(remaining / wanted));
  const rows = remaining <= wanted ? remaining : Math.min(wanted, roundUp(even));
  if (remaining - rows !== 1) return rows;
  return rows > 2 ? rows - 1 : rows + 1;
}

/** Kernels compute rows by the tile, a part of one like a whole. */
function roundUp(rows: number): number {
  return Math.ceil(rows / tileRows) * tileRows;
}

/** A row that is scored costs more: its logits are computed and summed. */
type RowKind = "plain" | "scored";

/** Measures what a prompt row costs and says how many fit into a step. */
export class RowBudget {
  readonly #rowsMax: number;
  readonly #msPerRow = new Map<RowKind, number>();

  constructor(rowsMax: number) {
    this.#rowsMax = rowsMax;
  }

  record(kind: RowKind, rows: number, elapsedMs: number): void {
    if (rows < rowsMin) return; // fixed costs would pass for the price of a row
    const msPerRow = elapsedMs / rows;
    const known = this.#msPerRow.get(kind) ?? msPerRow;
    this.#msPerRow.set(kind, known + smoothing * (msPerRow - known));
  }

  /** `targetMs` is how long the step's prompt work should take. */
  rows(kind: RowKind, targetMs: number): number {
    const wanted = kind === "scored" ? scoredRowsMax : this.#rowsMax;
    const limit = Math.max(2, Math.min(this.#rowsMax - 1, wanted));
    const msPerRow = this.#msPerRow.get(kind);
    if (msPerRow === undefined) return Math.min(limit, 2 * rowsMin);
    const fitting = Math.floor(targetMs / Math.max(msPerRow, 1e-6));
    return Math.min(limit, Math.max(rowsMin, fitting));
  }
}
