/** Reads the head of one GGUF file: an ordinary model, or a part of a split one. */
import { closeSync, fstatSync, openSync } from "node:fs";
import { GgufFormatError, GgufReader, numberBytes } from "./gguf-reader.ts";
import { readTensors, tensorLimits, type WeightSum } from "./gguf-tensors.ts";
import { ModelFileError } from "./model-file-error.ts";

/** Limits on what a header may claim. Real ones stay far below: a few megabytes, 50 entries. */
export const ggufLimits = {
  headerBytes: 256 * 1024 * 1024,
  metadataEntries: 65_536,
  tensors: 262_144,
  keyBytes: 65_535,
  /** Longer string values are skipped, not kept. */
  valueBytes: 1024 * 1024,
  alignmentBytes: 1024 * 1024,
  /** Longer arrays of numbers are skipped, not kept. */
  numberListLength: 4096,
  ...tensorLimits,
} as const;

export type MetadataValue = string | number | boolean;

/** What one file says of itself. */
export interface PartHeader {
  /** The format's version, 2 or 3. */
  readonly version: number;
  /** Single values; of arrays (the vocabulary) little more than `lengths` is kept. */
  readonly metadata: ReadonlyMap<string, MetadataValue>;
  /** Entries of each array in the metadata. */
  readonly lengths: ReadonlyMap<string, number>;
  /** The arrays of strings that were asked for. */
  readonly lists: ReadonlyMap<string, readonly string[]>;
  /** Short arrays of numbers, for example the key heads of each layer. */
  readonly numberLists: ReadonlyMap<string, readonly number[]>;
  /** Later parts of a split model name none. */
  readonly architecture: string | undefined;
  /** `general.name`, if the file has one. */
  readonly name: string | undefined;
  /** `general.file_type`: the number of the main weight type, if given. */
  readonly fileType: number | undefined;
  /** Type names of all tensors with two or more dimensions: the ones that are multiplied. */
  readonly matrixTypes: ReadonlySet<string>;
  /** Numbers in those tensors. */
  readonly matrixParameters: number;
  /** All tensors by the name of their type. */
  readonly weights: ReadonlyMap<string, WeightSum>;
  readonly tensorCount: number;
  /** Bytes the file has to have for its tensors; equal to its size or a little less. */
  readonly neededBytes: number;
  /** Files a split model consists of; 1 for an ordinary one. */
  readonly splitParts: number;
  /** Which of them this file is, from 0. */
  readonly splitNumber: number;
  /** Tensors of all of them, if given. */
  readonly splitTensors: number | undefined;
}

export interface HeaderOptions {
  /** Keys of arrays of strings to keep. */
  readonly lists?: readonly string[];
}

const stringType = 8;
const arrayType = 9;
const boolType = 7;

/** Throws a ModelFileError: missing, unreadable, not-gguf, damaged or unsupported. */
export function readPart(path: string, options: HeaderOptions): PartHeader {
  const file = openFile(path);
  try {
    const stats = fstatSync(file);
    if (!stats.isFile()) {
      throw new ModelFileError("unreadable", path, `The model file ${path} is not a file.`);
    }
    const reader = new GgufReader(file, stats.size, ggufLimits.headerBytes);
    const header = readHeader(reader, path, new Set(options.lists));
    if (header.neededBytes > stats.size) {
      throw new GgufFormatError(`it has ${stats.size} of ${header.neededBytes} bytes`);
    }
    return header;
  } catch (error) {
    if (!(error instanceof GgufFormatError)) throw error;
    throw new ModelFileError(
      "damaged",
      path,
      `The model file ${path} is damaged or cut off: ${error.message}.`,
      { cause: error },
    );
  } finally {
    closeSync(file);
  }
}

function openFile(path: string): number {
  try {
    return openSync(path, "r");
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    if (code === "ENOENT" || code === "ENOTDIR") {
      const message = `There is no model file at ${path}.`;
      throw new ModelFileError("missing", path, message, { cause: error });
    }
    const message = `The model file ${path} cannot be read (${code}).`;
    throw new ModelFileError("unreadable", path, message, { cause: error });
  }
}

function readHeader(
  reader: GgufReader,
  path: string,
  wantedLists: ReadonlySet<string>,
): PartHeader {
  const version = readVersion(reader, path);
  const tensorCount = bounded(reader, "the number of tensors", ggufLimits.tensors);
  const arrays = readMetadata(reader, wantedLists);
  const { metadata } = arrays;
  const { endBytes, ...tensors } = readTensors(reader, path, tensorCount);
  const text = (key: string): string | undefined => textOf(metadata.get(key));
  const number = (key: string): number | undefined => numberOf(metadata.get(key));
  const alignment = alignmentOf(metadata.get("general.alignment"));
  const dataStart = Math.ceil(reader.position / alignment) * alignment;
  return {
    version,
    ...arrays,
    architecture: text("general.architecture"),
    name: text("general.name"),
    fileType: number("general.file_type"),
    ...tensors,
    tensorCount,
    neededBytes: tensorCount === 0 ? reader.position : dataStart + endBytes,
    splitParts: number("split.count") ?? 1,
    splitNumber: number("split.no") ?? 0,
    splitTensors: number("split.tensors.count"),
  };
}

function readMetadata(
  reader: GgufReader,
  wantedLists: ReadonlySet<string>,
): Pick<PartHeader, "metadata" | "lengths" | "lists" | "numberLists"> {
  const entries = bounded(reader, "the number of metadata entries", ggufLimits.metadataEntries);
  const metadata = new Map<string, MetadataValue>();
  const lengths = new Map<string, number>();
  const lists = new Map<string, readonly string[]>();
  const numberLists = new Map<string, readonly number[]>();
  for (let entry = 0; entry < entries; entry += 1) {
    const key = reader.string(ggufLimits.keyBytes);
    if (key === undefined || key === "") throw new GgufFormatError("a metadata key is too long");
    const type = reader.uint32();
    if (type === arrayType) {
      const list = readArray(reader, wantedLists.has(key));
      lengths.set(key, list.length);
      if (list.strings !== undefined) lists.set(key, list.strings);
      if (list.numbers !== undefined) numberLists.set(key, list.numbers);
      continue;
    }
    const value = readValue(reader, type);
    if (value !== undefined) metadata.set(key, value);
  }
  return { metadata, lengths, lists, numberLists };
}

/** Magic and version; the first bytes decide whether this is a GGUF file at all. */
function readVersion(reader: GgufReader, path: string): number {
  const magic = readMagic(reader);
  if (magic !== "GGUF") {
    const hint = magic.startsWith("PK")
      ? " (it is a zip archive)"
      : /^(?:ver|<!D|<htm)/i.test(magic)
        ? " (it is text; was a pointer or an error page downloaded in its place?)"
        : "";
    throw new ModelFileError("not-gguf", path, `The file ${path} is not a GGUF model${hint}.`);
  }
  const version = reader.uint32();
  if (version === 2 || version === 3) return version;
  throw new ModelFileError(
    "unsupported",
    path,
    `The model file ${path} has GGUF version ${version}; versions 2 and 3 can be read.`,
  );
}

function readMagic(reader: GgufReader): string {
  try {
    return String.fromCharCode(reader.uint8(), reader.uint8(), reader.uint8(), reader.uint8());
  } catch (error) {
    if (error instanceof GgufFormatError) return "";
    throw error;
  }
}

/** One value; undefined for strings too long to keep. */
function readValue(reader: GgufReader, type: number): MetadataValue | undefined {
  if (type === stringType) return reader.string(ggufLimits.valueBytes);
  const value = reader.number(type);
  return type === boolType ? value !== 0 : value;
}

interface ArrayValue {
  readonly length: number;
  readonly strings?: readonly string[];
  readonly numbers?: readonly number[];
}

/** Moves over an array; keeps its strings where they are wanted, and few numbers. */
function readArray(reader: GgufReader, wanted: boolean): ArrayValue {
  const type = reader.uint32();
  const length = reader.uint64("the length of a list");
  const size = numberBytes(type);
  if (size !== undefined) {
    if (length <= ggufLimits.numberListLength) {
      return { length, numbers: Array.from({ length }, () => reader.number(type)) };
    }
    reader.skip(length * size);
    return { length };
  }
  if (type !== stringType) throw new GgufFormatError(`a list has the unknown type ${type}`);
  const strings: string[] = [];
  // Ends at the header limit at the latest: each string takes at least eight bytes.
  for (let index = 0; index < length; index += 1) {
    if (wanted) strings.push(reader.string(ggufLimits.valueBytes) ?? "");
    else reader.skip(reader.uint64("the length of a string"));
  }
  return wanted ? { length, strings } : { length };
}

function bounded(reader: GgufReader, what: string, limit: number): number {
  const value = reader.uint64(what);
  if (value > limit) throw new GgufFormatError(`${what} is ${value}`);
  return value;
}

function alignmentOf(value: MetadataValue | undefined): number {
  const alignment = value ?? 32;
  const power = typeof alignment === "number" && alignment > 0 && Math.log2(alignment) % 1 === 0;
  if (power && alignment <= ggufLimits.alignmentBytes) return alignment;
  throw new GgufFormatError(`its alignment is ${String(value)}`);
}

function textOf(value: MetadataValue | undefined): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function numberOf(value: MetadataValue | undefined): number | undefined {
  return typeof value === "number" ? value : undefined;
}
