/**
 * The WebAssembly passes over a row of logits, on memory of their own. One row is loaded at a time;
 * loading the next one overwrites it. What the passes compute stands in row-kernels.wat.
 */
import { rowKernelsBinary } from "./row-kernels-binary.ts";

/** The part of the standard that is used; TypeScript knows it only together with the browser. */
declare const WebAssembly: {
  Module: new (bytes: Uint8Array) => object;
  Instance: new (module: object) => { readonly exports: unknown };
};

interface Exports {
  readonly memory: { readonly buffer: ArrayBuffer; grow(pages: number): number };
  maximum(at: number, count: number): number;
  firstAtLeast(at: number, from: number, count: number, limit: number): number;
  sumOfExponentials(at: number, count: number, max: number): number;
  weigh(at: number, count: number, max: number, scale: number, weights: number): number;
  selectAtLeast(weights: number, count: number, limit: number, ids: number): number;
}

const pageBytes = 65_536;
const logitBytes = 4;
const weightBytes = 4;
const idBytes = 4;
const lanes = 4;
/** The smallest step up from a float32 value is found in these bits. */
const floatBits = new Float32Array(1);
const integerBits = new Int32Array(floatBits.buffer);

function instantiate(): Exports {
  const module = new WebAssembly.Module(Buffer.from(rowKernelsBinary, "base64"));
  return new WebAssembly.Instance(module).exports as Exports;
}

export class RowKernels {
  readonly #exports = instantiate();
  /** Logits of the loaded row; may be changed in place before the passes. */
  values = new Float32Array(0);
  /** What the last `weigh` wrote. */
  weights = new Float32Array(0);
  #ids = new Uint32Array(0);
  /** Length of the row, and the same rounded up to whole lanes. */
  #size = 0;
  #padded = 0;
  #weightsAt = 0;
  #idsAt = 0;

  /** Copies a row in. */
  load(logits: Float32Array): void {
    if (logits.length !== this.#size) this.#layOut(logits.length);
    this.values.set(logits);
  }

  /** The largest logit, or -Infinity when there is none. NaN is no value. */
  maximum(): number {
    return this.#exports.maximum(0, this.#padded);
  }

  /** The index of the largest logit, the lowest among equals; undefined for none. */
  argmax(): number | undefined {
    const max = this.maximum();
    if (max === Number.NEGATIVE_INFINITY) return undefined;
    return this.firstAtLeast(max, 0);
  }

  /** The first index from `from` on with a logit of at least `limit`; the row's length for none. */
  firstAtLeast(limit: number, from: number): number {
    return this.#exports.firstAtLeast(0, from, this.#size, limit);
  }

  /** As `firstAtLeast`, for logits above `limit`. */
  firstAbove(limit: number, from: number): number {
    return this.firstAtLeast(nextFloat32(limit), from);
  }

  /** The sum of e^(logit - max), max being the largest logit. */
  sumOfExponentials(max: number): number {
    return this.#exports.sumOfExponentials(0, this.#padded, max);
  }

  /** Writes e^((logit - max) * scale) to `weights` and gives their sum. */
  weigh(max: number, scale: number): number {
    return this.#exports.weigh(0, this.#padded, max, scale, this.#weightsAt);
  }

  /** Indexes of the weights that are at least `limit`, rising; a view until the next call. */
  select(limit: number): Uint32Array {
    const count = this.#exports.selectAtLeast(this.#weightsAt, this.#padded, limit, this.#idsAt);
    return this.#ids.subarray(0, count);
  }

  #layOut(size: number): void {
    const padded = Math.ceil(size / lanes) * lanes;
    this.#weightsAt = padded * logitBytes;
    this.#idsAt = this.#weightsAt + padded * weightBytes;
    const { memory } = this.#exports;
    const missing = this.#idsAt + padded * idBytes - memory.buffer.byteLength;
    if (missing > 0) memory.grow(Math.ceil(missing / pageBytes));
    new Float32Array(memory.buffer, 0, padded).fill(Number.NEGATIVE_INFINITY);
    this.values = new Float32Array(memory.buffer, 0, size);
    this.weights = new Float32Array(memory.buffer, this.#weightsAt, size);
    this.#ids = new Uint32Array(memory.buffer, this.#idsAt, padded);
    this.#size = size;
    this.#padded = padded;
  }
}

/** The float32 value next above a float32 value. */
function nextFloat32(value: number): number {
  floatBits[0] = value === 0 ? 0 : value; // -0 and 0 are equal
  const bits = integerBits[0] as number;
  if (value === Number.NEGATIVE_INFINITY) return -3.4028234663852886e38;
  integerBits[0] = value >= 0 ? bits + 1 : bits - 1;
  return floatBits[0] as number;
}

/** One set of memory for the thread: every pass is done with it before the next row is loaded. */
export const rowKernels = new RowKernels();
