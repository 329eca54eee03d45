/**
 * Numbers for the tiny test models: a seeded generator that gives the same values on every
 * machine, and the storage types F32, F16 and Q8_0.
 */

export type TensorType = "f32" | "f16" | "q8_0";

/** ggml's numbers for the types. */
export const TENSOR_TYPE_ID: Readonly<Record<TensorType, number>> = { f32: 0, f16: 1, q8_0: 8 };

/** Values that share one scale in Q8_0. */
export const Q8_0_BLOCK_VALUES = 32;
const Q8_0_BLOCK_BYTES = 2 + Q8_0_BLOCK_VALUES;
const Q8_0_LARGEST = 127;

/**
 * A source of random values. Only integer steps and exact float operations, no logarithm or
 * cosine, whose last bit may differ between machines.
 */
export class SeededValues {
  #state: number;

  /** The label keeps one tensor's values apart from another's, whatever their order. */
  constructor(seed: number, label: string) {
    let state = mix(seed >>> 0);
    for (const byte of new TextEncoder().encode(label)) state = mix(state ^ (byte + 1));
    this.#state = state;
  }

  /** Uniform in [0, 1). */
  uniform(): number {
    this.#state = (this.#state + 0x9e3779b9) >>> 0;
    return mix(this.#state) / 2 ** 32;
  }

  /** Bell-shaped around 0 with standard deviation 1: the sum of twelve uniforms, less 6. */
  bell(): number {
    let sum = -6;
    for (let draw = 0; draw < 12; draw++) sum += this.uniform();
    return sum;
  }
}

/** A permutation of the 32-bit integers that scatters neighbours. */
function mix(value: number): number {
  let mixed = value >>> 0;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x7feb352d);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x846ca68b);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}

/**
 * Stores values in a type. Rows of Q8_0 have to be multiples of 32 values, so that no block
 * reaches over a row; this is the caller's care.
 */
export function encodeTensor(values: Float32Array, type: TensorType): Uint8Array {
  switch (type) {
    case "f32":
      return encodeFloat32(values);
    case "f16":
      return encodeFloat16(values);
    case "q8_0":
      return encodeBlocks(values);
  }
}

function encodeFloat32(values: Float32Array): Uint8Array {
  const data = new Uint8Array(values.length * 4);
  const view = new DataView(data.buffer);
  values.forEach((value, index) => {
    view.setFloat32(index * 4, value, true);
  });
  return data;
}

function encodeFloat16(values: Float32Array): Uint8Array {
  const data = new Uint8Array(values.length * 2);
  const view = new DataView(data.buffer);
  values.forEach((value, index) => {
    view.setUint16(index * 2, float16Bits(value), true);
  });
  return data;
}

/** Q8_0: for each 32 values a float16 scale (largest magnitude / 127), then 32 signed bytes. */
function encodeBlocks(values: Float32Array): Uint8Array {
  if (values.length % Q8_0_BLOCK_VALUES !== 0) {
    throw new RangeError(`Q8_0 stores multiples of 32 values, not ${values.length}`);
  }
  const blocks = values.length / Q8_0_BLOCK_VALUES;
  const data = new Uint8Array(blocks * Q8_0_BLOCK_BYTES);
  const view = new DataView(data.buffer);
  for (let block = 0; block < blocks; block++) {
    const from = block * Q8_0_BLOCK_VALUES;
    const part = values.subarray(from, from + Q8_0_BLOCK_VALUES);
    const largest = part.reduce((max, value) => Math.max(max, Math.abs(value)), 0);
    const scale = largest / Q8_0_LARGEST;
    const at = block * Q8_0_BLOCK_BYTES;
    view.setUint16(at, float16Bits(scale), true);
    part.forEach((value, index) => {
      view.setInt8(at + 2 + index, scale === 0 ? 0 : Math.round(value / scale));
    });
  }
  return data;
}

/** The float16 nearest to a finite value, ties to the even one; too large becomes infinity. */
export function float16Bits(value: number): number {
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  const magnitude = Math.abs(value);
  if (magnitude >= 65520) return sign | 0x7c00;
  // Below 2^-14 the step stays 2^-24 (subnormal numbers); above it is 2^-10 of the power of two.
  const exponent = Math.max(-14, exponentOf(magnitude));
  const steps = roundHalfEven(magnitude / 2 ** (exponent - 10));
  // A carry out of the fraction runs into the exponent by itself.
  return sign | (((exponent + 14) << 10) + steps);
}

/** The power of two at or below a value; -Infinity for 0. */
function exponentOf(magnitude: number): number {
  if (magnitude === 0) return Number.NEGATIVE_INFINITY;
  let exponent = 0;
  while (2 ** (exponent + 1) <= magnitude) exponent++;
  while (2 ** exponent > magnitude) exponent--;
  return exponent;
}

function roundHalfEven(value: number): number {
  const floor = Math.floor(value);
  const rest = value - floor;
  if (rest !== 0.5) return Math.round(value);
  return floor % 2 === 0 ? floor : floor + 1;
}
