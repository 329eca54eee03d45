/**
 * Reads and checks the head of a GGUF model file without the native library: what the model is,
 * and whether the file is whole. The file may be hostile, so every count and length is bounded.
 */
import { closeSync, fstatSync, openSync } from "node:fs";
import { GgufFormatError, GgufReader, numberBytes } from "./gguf-reader.ts";
import { ModelFileError } from "./model-file-error.ts";
import { checkSplitParts } from "./split-parts.ts";
import { tensorType } from "./tensor-types.ts";

/** Limits on what a header may claim. Real ones stay far below: a few megabytes, 50 entries. */
export const ggufLimits = {
  headerBytes: 256 * 1024 * 1024,
  metadataEntries: 65_536,
  tensors: 262_144,
  keyBytes: 65_535,
  /** Longer string values are skipped, not kept. */
  valueBytes: 1024 * 1024,
  tensorNameBytes: 63,
  dimensions: 4,
  alignmentBytes: 1024 * 1024,
} as const;

export type MetadataValue = string | number | boolean;

export interface GgufHeader {
  /** The format's version, 2 or 3. */
  readonly version: number;
  /** Single values; arrays (the vocabulary) are checked but not kept. */
  readonly metadata: ReadonlyMap<string, MetadataValue>;
  readonly architecture: string;
  /** `general.name`, if the file has one. */
  readonly name: string | undefined;
  /** `general.file_type`: the number of the main weight type, if given. */
  readonly fileType: number | undefined;
  /** Type names of all tensors with two or more dimensions: the ones that are multiplied. */
  readonly matrixTypes: ReadonlySet<string>;
  readonly tensorCount: number;
  /** Bytes the file has to have for its tensors; equal to its size or a little less. */
  readonly neededBytes: number;
  /** Files a split model consists of; 1 for an ordinary one. */
  readonly splitParts: number;
}

const stringType = 8;
const arrayType = 9;
const boolType = 7;

/**
 * Header of the file at `path`. Throws a ModelFileError: missing, unreadable, not-gguf, damaged
 * or unsupported. A split model needs all of its parts, of which `path` names the first.
 */
export function readGgufHeader(path: string): GgufHeader {
  const file = openFile(path);
  try {
    const stats = fstatSync(file);
    if (!stats.isFile()) {
      throw new ModelFileError("unreadable", path, `The model file ${path} is not a file.`);
    }
    const header = readHeader(new GgufReader(file, stats.size, ggufLimits.headerBytes), path);
    if (header.neededBytes > stats.size) {
      throw new GgufFormatError(`it has ${stats.size} of ${header.neededBytes} bytes`);
    }
    checkSplitParts(path, header.splitParts);
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

function readHeader(reader: GgufReader, path: string): GgufHeader {
  const version = readVersion(reader, path);
  const tensorCount = bounded(reader, "the number of tensors", ggufLimits.tensors);
  const entries = bounded(reader, "the number of metadata entries", ggufLimits.metadataEntries);
  const metadata = new Map<string, MetadataValue>();
  for (let entry = 0; entry < entries; entry += 1) {
    const key = reader.string(ggufLimits.keyBytes);
    if (key === undefined || key === "") throw new GgufFormatError("a metadata key is too long");
    const value = readValue(reader);
    if (value !== undefined) metadata.set(key, value);
  }
  const tensors = readTensors(reader, path, tensorCount);
  const text = (key: string): string | undefined => textOf(metadata.get(key));
  const architecture = text("general.architecture");
  if (architecture === undefined) throw new GgufFormatError("it names no model architecture");
  const alignment = alignmentOf(metadata.get("general.alignment"));
  const dataStart = Math.ceil(reader.position / alignment) * alignment;
  return {
    version,
    metadata,
    architecture,
    name: text("general.name"),
    fileType: numberOf(metadata.get("general.file_type")),
    matrixTypes: tensors.matrixTypes,
    tensorCount,
    neededBytes: tensorCount === 0 ? reader.position : dataStart + tensors.endBytes,
    splitParts: numberOf(metadata.get("split.count")) ?? 1,
  };
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

/** One value; undefined for arrays and for strings too long to keep. */
function readValue(reader: GgufReader): MetadataValue | undefined {
  const type = reader.uint32();
  if (type === stringType) return reader.string(ggufLimits.valueBytes);
  if (type === arrayType) {
    skipArray(reader);
    return undefined;
  }
  const value = reader.number(type);
  return type === boolType ? value !== 0 : value;
}

function skipArray(reader: GgufReader): void {
  const type = reader.uint32();
  const length = reader.uint64("the length of a list");
  const size = numberBytes(type);
  if (size !== undefined) {
    reader.skip(length * size);
    return;
  }
  if (type !== stringType) throw new GgufFormatError(`a list has the unknown type ${type}`);
  // Ends at the header limit at the latest: each string takes at least eight bytes.
  for (let index = 0; index < length; index += 1) {
    reader.skip(reader.uint64("the length of a string"));
  }
}

function readTensors(
  reader: GgufReader,
  path: string,
  count: number,
): { matrixTypes: ReadonlySet<string>; endBytes: number } {
  const matrixTypes = new Set<string>();
  let endBytes = 0;
  for (let index = 0; index < count; index += 1) {
    const name = reader.string(ggufLimits.tensorNameBytes);
    if (name === undefined) throw new GgufFormatError("a tensor name is too long");
    const dimensions = reader.uint32();
    if (dimensions > ggufLimits.dimensions) {
      throw new GgufFormatError(`tensor ${name} has ${dimensions} dimensions`);
    }
    const shape = Array.from({ length: dimensions }, () => reader.uint64("a tensor's size"));
    const typeId = reader.uint32();
    const offset = reader.uint64("a tensor's place");
    const type = tensorType(typeId);
    if (type === undefined) {
      const message = `The model file ${path} uses the number format ${typeId}, which is unknown here.`;
      throw new ModelFileError("unsupported", path, message);
    }
    const rowLength = shape[0] ?? 1;
    if (rowLength % type.blockLength !== 0) {
      throw new GgufFormatError(`tensor ${name} has rows of ${rowLength} numbers`);
    }
    const elements = shape.reduce((product, size) => product * size, 1);
    const bytes = (elements / type.blockLength) * type.blockBytes;
    endBytes = Math.max(endBytes, offset + bytes);
    if (!Number.isSafeInteger(endBytes)) throw new GgufFormatError(`tensor ${name} is too large`);
    if (dimensions >= 2) matrixTypes.add(type.name);
  }
  return { matrixTypes, endBytes };
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
