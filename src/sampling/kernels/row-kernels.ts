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
  histogram(weights: number, count: number, floor: number, first: number, table: number): void;
  select(weights: number, count: number, limit: number, above: number, ids: number): number;
  draw(
    at: number,
    weights: number,
    count: number,
    floor: number,
    cut: number,
    ties: number,
    target: number,
  ): number;
}

const pageBytes = 65_536;
const logitBytes = 4;
const weightBytes = 4;
const idBytes = 4;
const massBytes = 8;
const lanes = 4;
/** Weights are put into buckets by all but these last bits. */
const bucketBits = 16;
const floatBits = new Float32Array(1);
const integerBits = new Int32Array(floatBits.buffer);

function bitsOf(value: number): number {
  floatBits[0] = value;
  return integerBits[0] as number;
}

function floatOf(bits: number): number {
  integerBits[0] = bits;
  return floatBits[0] as number;
}

/** Tokens lighter than this, where the likeliest weighs 1, are never drawn: e^-40, as a float32. */
export const weightMin = Math.fround(Math.exp(-40));
const bucketsMax = (bitsOf(1) >>> bucketBits) - (bitsOf(weightMin) >>> bucketBits) + 1;

export interface Reach {
  readonly lower: number;
  readonly upper: number;
  /** Sum of the weights of at least `upper`. */
  readonly before: number;
}

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
  #table = new Float64Array(0);
  #weightsAt = 0;
  #tableAt = 0;
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

  /** Indexes of weights from `limit` up to but not `above`, rising; a view until the next call. */
  select(limit: number, above = Number.POSITIVE_INFINITY): Uint32Array {
    const [at, ids] = [this.#weightsAt, this.#idsAt];
    const count = this.#exports.select(at, this.#padded, limit, above, ids);
    return this.#ids.subarray(0, count);
  }

  /**
   * Where the running sum of the weights, largest first, reaches `mass`: the bounds of the weights
   * among which it happens, and the sum of all above them. Weights are at most 1; those below
   * `weightMin` hardly count. Undefined when all together weigh less.
   */
  reach(mass: number): Reach | undefined {
    this.#table.fill(0);
    const first = bitsOf(weightMin) >>> bucketBits;
    const [at, table] = [this.#weightsAt, this.#tableAt];
    this.#exports.histogram(at, this.#padded, weightMin, first, table);
    let before = 0;
    for (let bucket = this.#table.length - 1; bucket >= 0; bucket -= 1) {
      const own = this.#table[bucket] as number;
      if (own > 0 && before + own >= mass) {
        const lower = Math.max(weightMin, floatOf((first + bucket) << bucketBits));
        return { lower, upper: floatOf((first + bucket + 1) << bucketBits), before };
      }
      before += own;
    }
    return undefined;
  }

  /**
   * The token at which the running sum of weights, in the order of ids, exceeds `target`. Only
   * tokens of at least `weightMin` count, with a logit above `cut` or among the first `ties` of
   * those equal to it. -1 when there is none.
   */
  draw(target: number, cut = Number.NEGATIVE_INFINITY, ties = 0): number {
    return this.#exports.draw(0, this.#weightsAt, this.#size, weightMin, cut, ties, target);
  }

  #layOut(size: number): void {
    const padded = Math.ceil(size / lanes) * lanes;
    this.#weightsAt = padded * logitBytes;
    this.#idsAt = this.#weightsAt + padded * weightBytes;
    const { memory } = this.#exports;
    this.#tableAt = Math.ceil((this.#idsAt + padded * idBytes) / massBytes) * massBytes;
    const missing = this.#tableAt + bucketsMax * massBytes - memory.buffer.byteLength;
    if (missing > 0) memory.grow(Math.ceil(missing / pageBytes));
    new Float32Array(memory.buffer, 0, padded).fill(Number.NEGATIVE_INFINITY);
    this.values = new Float32Array(memory.buffer, 0, size);
    this.weights = new Float32Array(memory.buffer, this.#weightsAt, size);
    this.#ids = new Uint32Array(memory.buffer, this.#idsAt, padded);
    this.#table = new Float64Array(memory.buffer, this.#tableAt, bucketsMax);
    this.#size = size;
    this.#padded = padded;
  }
}

/** The float32 value next above a float32 value. */
function nextFloat32(value: number): number {
  if (value === Number.NEGATIVE_INFINITY) return -3.4028234663852886e38;
  const bits = bitsOf(value === 0 ? 0 : value); // -0 and 0 are equal
  return floatOf(value >= 0 ? bits + 1 : bits - 1);
}

/** One set of memory for the thread: every pass is done with it before the next row is loaded. */
export const rowKernels = new RowKernels();
