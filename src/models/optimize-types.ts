/** Which weight types are worth trying for a file, and how large a file of each will be. */
import { type FileType, fileTypeName } from "../llama/file-types.ts";
import type { GgufHeader } from "../llama/gguf-header.ts";
import type { NumericsMode } from "../llama/numerics.ts";
import { isFloatType } from "../llama/tensor-types.ts";

/** Bits of one weight in the matrices of a type, mixtures counted by what most of them have. */
const bitsPerWeight: Readonly<Record<FileType, number>> = {
  f32: 32,
  f16: 16,
  bf16: 16,
  q8_0: 8.5,
  q6_k: 6.6,
  q5_k_m: 5.7,
  q5_k_s: 5.6,
  q5_1: 6,
  q5_0: 5.5,
  q4_k_m: 4.9,
  q4_k_s: 4.6,
  q4_1: 5,
  q4_0: 4.5,
  iq4_nl: 4.5,
  iq4_xs: 4.3,
  q3_k_l: 4.3,
  q3_k_m: 3.9,
  q3_k_s: 3.5,
  q2_k: 3.2,
};

/**
 * An estimate may be exceeded by this share: embeddings keep more bits, and rows that do not fit a
 * type's blocks get the next larger type.
 */
const estimateMargin = 0.35;

/** The name of a file's own type: what it says, else the type that most of its bytes have. */
export function ownTypeName(header: GgufHeader): string {
  const stated = header.fileType === undefined ? undefined : fileTypeName(header.fileType);
  return stated ?? mainWeightType(header);
}

function mainWeightType({ weights, matrixTypes }: GgufHeader): string {
  const bytesOf = (type: string): number => weights.get(type)?.bytes ?? 0;
  const [first = "unknown"] = [...matrixTypes].toSorted((a, b) => bytesOf(b) - bytesOf(a));
  return first;
}

/** Whether the weights are numbers as they were trained, so that nothing was lost yet. */
export function hasFloatWeights(header: GgufHeader): boolean {
  return isFloatType(mainWeightType(header));
}

/**
 * The types that are tried unless told. From float weights: the common smaller ones. From quantised
 * ones: those that are smaller still, and Q8_0, which is larger and nevertheless faster than many.
 * IQ4_NL is quick only with repacked weights, which numerics other than `fast` do not allow it.
 */
export function defaultTypes(header: GgufHeader, numerics: NumericsMode): readonly FileType[] {
  const own = ownTypeName(header).toLowerCase();
  const types: FileType[] = ["q8_0", "q6_k", "q4_k_m", "q4_0"];
  if (numerics === "fast") types.push("iq4_nl");
  if (own === "f32") types.unshift("bf16", "f16");
  const ownBits = (8 * totalBytes(header)) / Math.max(1, totalParameters(header));
  const keepsAll = hasFloatWeights(header);
  return types.filter(
    (type) => type !== own && (keepsAll || type === "q8_0" || bitsPerWeight[type] < ownBits),
  );
}

/** Bytes that a file of a type takes at most, roughly. */
export function estimateBytes(header: GgufHeader, type: FileType): number {
  const { matrixParameters } = header;
  const others = totalParameters(header) - matrixParameters;
  const weights = matrixParameters * bitsPerWeight[type] * (1 + estimateMargin) + others * 32;
  const head = Math.max(0, header.neededBytes - totalBytes(header));
  return Math.ceil(weights / 8 + head);
}

export function totalBytes({ weights }: GgufHeader): number {
  return [...weights.values()].reduce((total, sum) => total + sum.bytes, 0);
}

export function totalParameters({ weights }: GgufHeader): number {
  return [...weights.values()].reduce((total, sum) => total + sum.parameters, 0);
}
