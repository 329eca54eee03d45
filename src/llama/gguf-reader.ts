/** Reads the little-endian values of a GGUF header from a file, in bounded pieces. */
import { readSync } from "node:fs";

/** Bytes fetched at once. */
const windowBytes = 1024 * 1024;

/** The file ends, or claims to hold, more than can be. Turned into a ModelFileError above. */
export class GgufFormatError extends Error {}

export class GgufReader {
  readonly #file: number;
  /** No byte at or after this position is read. */
  readonly #endBytes: number;
  readonly #window: DataView<ArrayBuffer>;
  #windowStart = 0;
  #windowLength = 0;
  #position = 0;

  /** Reads from the start of an open file, at most `limitBytes` of its `fileBytes`. */
  constructor(file: number, fileBytes: number, limitBytes: number) {
    this.#file = file;
    this.#endBytes = Math.min(fileBytes, limitBytes);
    this.#window = new DataView(new ArrayBuffer(windowBytes));
  }

  get position(): number {
    return this.#position;
  }

  uint8(): number {
    return this.#window.getUint8(this.#take(1));
  }

  uint32(): number {
    return this.#window.getUint32(this.#take(4), true);
  }

  /** Refuses values that a double cannot hold exactly: no real file needs them. */
  uint64(what: string): number {
    const value = this.#window.getBigUint64(this.#take(8), true);
    if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw new GgufFormatError(`${what} is ${value}`);
    return Number(value);
  }

  /** A number of the given GGUF value type; 64-bit ones rounded to the nearest double. */
  number(type: number): number {
    const size = numberBytes(type);
    if (size === undefined) throw new GgufFormatError(`a value has the unknown type ${type}`);
    return readNumber(this.#window, this.#take(size), type);
  }

  /** A string of at most `limitBytes`; undefined when it is longer, it is skipped then. */
  string(limitBytes: number): string | undefined {
    const length = this.uint64("the length of a string");
    if (length > limitBytes || length > windowBytes) {
      this.skip(length);
      return undefined;
    }
    const start = this.#take(length);
    return new TextDecoder().decode(new Uint8Array(this.#window.buffer, start, length));
  }

  skip(bytes: number): void {
    if (this.#position + bytes > this.#endBytes) throw new GgufFormatError("the header is cut off");
    this.#position += bytes;
  }

  /** Moves over `bytes` (at most a window) and gives their place in the window. */
  #take(bytes: number): number {
    const start = this.#position;
    this.skip(bytes);
    if (start < this.#windowStart || start + bytes > this.#windowStart + this.#windowLength) {
      this.#fill(start);
    }
    const offset = start - this.#windowStart;
    if (offset + bytes > this.#windowLength) throw new GgufFormatError("the header is cut off");
    return offset;
  }

  #fill(start: number): void {
    const wanted = Math.min(windowBytes, this.#endBytes - start);
    let length = 0;
    while (length < wanted) {
      const read = readSync(this.#file, this.#window, length, wanted - length, start + length);
      if (read === 0) break;
      length += read;
    }
    this.#windowStart = start;
    this.#windowLength = length;
  }
}

/** Bytes of a number type; undefined for strings, arrays and unknown types. */
export function numberBytes(type: number): number | undefined {
  return [1, 1, 2, 2, 4, 4, 4, 1, undefined, undefined, 8, 8, 8][type];
}

function readNumber(view: DataView, at: number, type: number): number {
  switch (type) {
    case 0:
    case 7:
      return view.getUint8(at);
    case 1:
      return view.getInt8(at);
    case 2:
      return view.getUint16(at, true);
    case 3:
      return view.getInt16(at, true);
    case 4:
      return view.getUint32(at, true);
    case 5:
      return view.getInt32(at, true);
    case 6:
      return view.getFloat32(at, true);
    case 10:
      return Number(view.getBigUint64(at, true));
    case 11:
      return Number(view.getBigInt64(at, true));
    default:
      return view.getFloat64(at, true);
  }
}
