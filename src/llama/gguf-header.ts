/**
 * Reads and checks the heads of a GGUF model's files without the native library: what the model is,
 * and whether it is whole. The files may be hostile, so every count and length is bounded.
 */
import { basename } from "node:path";
import { type HeaderOptions, type PartHeader, readPart } from "./gguf-part.ts";
import { addSums, type WeightSum } from "./gguf-tensors.ts";
import { ModelFileError } from "./model-file-error.ts";
import { firstPartOf, partPath, splitNameOf, splitPartPaths } from "./split-parts.ts";

export interface GgufHeader
  extends Omit<PartHeader, "architecture" | "splitNumber" | "splitTensors"> {
  readonly architecture: string;
  /** The files in order; the library is given the first. */
  readonly paths: readonly string[];
}

/**
 * Header of the file at `path`; of a split model any part may be named, all must be there, and
 * their tensors count together. Throws a ModelFileError: missing, unreadable, not-gguf, damaged or
 * unsupported.
 */
export function readGgufHeader(path: string, options: HeaderOptions = {}): GgufHeader {
  const first = firstPartOf(path);
  const head = readPart(first, options);
  const { architecture } = head;
  if (architecture === undefined) throw headless(first, head);
  const paths = splitPartPaths(first, head.splitParts);
  const parts = [head];
  for (const [index, each] of paths.entries()) {
    if (index === 0) continue;
    const part = readPart(each, {});
    checkPart(each, part, index, head);
    parts.push(part);
  }
  const sums = sumsOf(parts);
  if ((head.splitTensors ?? sums.tensorCount) !== sums.tensorCount) {
    const found = `${sums.tensorCount} of ${head.splitTensors} tensors`;
    const message = `The parts of the model in ${first} have ${found}.`;
    throw new ModelFileError("damaged", first, message);
  }
  return { ...head, ...sums, architecture, paths };
}

function sumsOf(
  parts: readonly PartHeader[],
): Pick<
  GgufHeader,
  "weights" | "matrixTypes" | "matrixParameters" | "tensorCount" | "neededBytes"
> {
  const weights = new Map<string, WeightSum>();
  for (const part of parts) {
    for (const [type, sum] of part.weights) weights.set(type, addSums(weights.get(type), sum));
  }
  const sum = (numberIn: (part: PartHeader) => number): number =>
    parts.reduce((total, part) => total + numberIn(part), 0);
  return {
    weights,
    matrixTypes: new Set(parts.flatMap((part) => [...part.matrixTypes])),
    matrixParameters: sum((part) => part.matrixParameters),
    tensorCount: sum((part) => part.tensorCount),
    neededBytes: sum((part) => part.neededBytes),
  };
}

/** Metadata that names no architecture: a later part, or no model at all. */
function headless(path: string, head: PartHeader): ModelFileError {
  if (head.splitNumber === 0) {
    const message = `The model file ${path} is damaged or cut off: it names no model architecture.`;
    return new ModelFileError("damaged", path, message);
  }
  const name = splitNameOf(path);
  const missing = name === undefined ? "which has another name" : basename(partPath(name, 1));
  const message = `The model file ${path} is a later part of a split model; its first part is missing: ${missing}.`;
  return new ModelFileError("missing", path, message);
}

/** A part of another model, or one in the wrong place, would give a model that is nobody's. */
function checkPart(path: string, part: PartHeader, number: number, head: PartHeader): void {
  if (part.splitNumber === number && part.splitParts === head.splitParts) return;
  const message =
    `The model file ${path} says that it is part ${part.splitNumber + 1} of ${part.splitParts}, ` +
    `not ${number + 1} of ${head.splitParts}.`;
  throw new ModelFileError("damaged", path, message);
}
