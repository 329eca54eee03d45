/**
 * Lays out a GGUF file, version 3: typed metadata, tensor descriptions, tensor data. Written for
 * the tiny test models, so it builds the whole file in memory.
 */

/** Metadata values; the kind decides how the value is stored. */
export type GgufValue =
  | { readonly kind: "uint16" | "uint32" | "int32"; readonly value: number }
  | { readonly kind: "float32"; readonly value: number }
  | { readonly kind: "bool"; readonly value: boolean }
  | { readonly kind: "string"; readonly value: string }
  | { readonly kind: "strings"; readonly values: readonly string[] }
  | { readonly kind: "int32s"; readonly values: readonly number[] }
  | { readonly kind: "float32s"; readonly values: readonly number[] };

export interface GgufTensor {
  readonly name: string;
  /** Sizes, the fastest running dimension (the length of a row) first. */
  readonly shape: readonly number[];
  /** The number that ggml gives the type of `data`. */
  readonly typeId: number;
  readonly data: Uint8Array;
}

export interface GgufFile {
  readonly metadata: ReadonlyMap<string, GgufValue>;
  readonly tensors: readonly GgufTensor[];
}

const VERSION = 3;
/** What a reader assumes without `general.alignment`. */
const ALIGNMENT_BYTES = 32;
const VALUE_TYPE = {
  uint16: 2,
  uint32: 4,
  int32: 5,
  float32: 6,
  bool: 7,
  string: 8,
  array: 9,
} as const;

/** The bytes of the file. */
export function encodeGguf(file: GgufFile): Uint8Array {
  const writer = new ByteWriter();
  writer.bytes(new TextEncoder().encode("GGUF"));
  writer.uint32(VERSION);
  writer.uint64(file.tensors.length);
  writer.uint64(file.metadata.size);
  for (const [key, value] of file.metadata) {
    writer.string(key);
    writeValue(writer, value);
  }
  let offset = 0;
  for (const tensor of file.tensors) {
    writer.string(tensor.name);
    writer.uint32(tensor.shape.length);
    for (const size of tensor.shape) writer.uint64(size);
    writer.uint32(tensor.typeId);
    writer.uint64(offset);
    offset += aligned(tensor.data.length);
  }
  writer.pad(ALIGNMENT_BYTES);
  for (const tensor of file.tensors) {
    writer.bytes(tensor.data);
    writer.pad(ALIGNMENT_BYTES);
  }
  return writer.finish();
}

function aligned(length: number): number {
  return Math.ceil(length / ALIGNMENT_BYTES) * ALIGNMENT_BYTES;
}

function writeValue(writer: ByteWriter, value: GgufValue): void {
  switch (value.kind) {
    case "uint16":
      writer.uint32(VALUE_TYPE.uint16);
      writer.uint16(value.value);
      return;
    case "uint32":
    case "int32":
      writer.uint32(VALUE_TYPE[value.kind]);
      writer.uint32(value.value >>> 0);
      return;
    case "float32":
      writer.uint32(VALUE_TYPE.float32);
      writer.float32(value.value);
      return;
    case "bool":
      writer.uint32(VALUE_TYPE.bool);
      writer.bytes(Uint8Array.of(value.value ? 1 : 0));
      return;
    case "string":
      writer.uint32(VALUE_TYPE.string);
      writer.string(value.value);
      return;
    case "strings":
      writer.arrayHead(VALUE_TYPE.string, value.values.length);
      for (const item of value.values) writer.string(item);
      return;
    case "int32s":
      writer.arrayHead(VALUE_TYPE.int32, value.values.length);
      for (const item of value.values) writer.uint32(item >>> 0);
      return;
    case "float32s":
      writer.arrayHead(VALUE_TYPE.float32, value.values.length);
      for (const item of value.values) writer.float32(item);
      return;
  }
}

/** A growing little-endian buffer. */
class ByteWriter {
  #buffer = new Uint8Array(1 << 16);
  #view = new DataView(this.#buffer.buffer);
  #length = 0;

  bytes(data: Uint8Array): void {
    this.#grow(data.length);
    this.#buffer.set(data, this.#length);
    this.#length += data.length;
  }

  uint16(value: number): void {
    this.bytes(Uint8Array.of(value & 255, value >>> 8));
  }

  uint32(value: number): void {
    this.#grow(4);
    this.#view.setUint32(this.#length, value, true);
    this.#length += 4;
  }

  uint64(value: number): void {
    this.#grow(8);
    this.#view.setBigUint64(this.#length, BigInt(value), true);
    this.#length += 8;
  }

  float32(value: number): void {
    this.#grow(4);
    this.#view.setFloat32(this.#length, value, true);
    this.#length += 4;
  }

  string(value: string): void {
    const data = new TextEncoder().encode(value);
    this.uint64(data.length);
    this.bytes(data);
  }

  arrayHead(itemType: number, length: number): void {
    this.uint32(VALUE_TYPE.array);
    this.uint32(itemType);
    this.uint64(length);
  }

  pad(alignment: number): void {
    const missing = (alignment - (this.#length % alignment)) % alignment;
    this.bytes(new Uint8Array(missing));
  }

  finish(): Uint8Array {
    return this.#buffer.slice(0, this.#length);
  }

  #grow(extra: number): void {
    const needed = this.#length + extra;
    if (needed <= this.#buffer.length) return;
    const larger = new Uint8Array(Math.max(needed, this.#buffer.length * 2));
    larger.set(this.#buffer.subarray(0, this.#length));
    this.#buffer = larger;
    this.#view = new DataView(larger.buffer);
  }
}
