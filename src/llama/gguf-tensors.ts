/** The table of tensors in a GGUF header: which number formats a model consists of, and how much. */
import { GgufFormatError, type GgufReader } from "./gguf-reader.ts";
import { ModelFileError } from "./model-file-error.ts";
import { tensorType } from "./tensor-types.ts";

export const tensorLimits = { tensorNameBytes: 63, dimensions: 4 } as const;

export interface WeightSum {
  readonly tensors: number;
  /** Single numbers. */
  readonly parameters: number;
  readonly bytes: number;
}

export interface TensorTable {
  /** By type name, all tensors. */
  readonly weights: ReadonlyMap<string, WeightSum>;
  /** Types of the tensors with two or more dimensions: the ones that are multiplied. */
  readonly matrixTypes: ReadonlySet<string>;
  /** Numbers in those tensors. */
  readonly matrixParameters: number;
  /** Where the last tensor ends, counted from the start of the data. */
  readonly endBytes: number;
}

/** Reads `count` entries. Throws a GgufFormatError or, for an unknown type, a ModelFileError. */
export function readTensors(reader: GgufReader, path: string, count: number): TensorTable {
  const weights = new Map<string, WeightSum>();
  const matrixTypes = new Set<string>();
  let matrixParameters = 0;
  let endBytes = 0;
  for (let index = 0; index < count; index += 1) {
    const tensor = readTensor(reader, path);
    endBytes = Math.max(endBytes, tensor.offset + tensor.bytes);
    if (!Number.isSafeInteger(endBytes)) {
      throw new GgufFormatError(`tensor ${tensor.name} is too large`);
    }
    const { type, parameters, bytes } = tensor;
    weights.set(type, addSums(weights.get(type), { tensors: 1, parameters, bytes }));
    if (!tensor.isMatrix) continue;
    matrixTypes.add(type);
    matrixParameters += parameters;
  }
  return { weights, matrixTypes, matrixParameters, endBytes };
}

export function addSums(left: WeightSum | undefined, right: WeightSum): WeightSum {
  if (left === undefined) return right;
  return {
    tensors: left.tensors + right.tensors,
    parameters: left.parameters + right.parameters,
    bytes: left.bytes + right.bytes,
  };
}

interface TensorEntry {
  readonly name: string;
  readonly type: string;
  readonly isMatrix: boolean;
  readonly parameters: number;
  readonly offset: number;
  readonly bytes: number;
}

function readTensor(reader: GgufReader, path: string): TensorEntry {
  const name = reader.string(tensorLimits.tensorNameBytes);
  if (name === undefined) throw new GgufFormatError("a tensor name is too long");
  const dimensions = reader.uint32();
  if (dimensions > tensorLimits.dimensions) {
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
  const parameters = shape.reduce((product, size) => product * size, 1);
  const bytes = (parameters / type.blockLength) * type.blockBytes;
  return { name, type: type.name, isMatrix: dimensions >= 2, parameters, offset, bytes };
}
