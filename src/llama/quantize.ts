/** Converts a model file to another weight type through the library. */
import { accessSync, constants, rmSync } from "node:fs";
import { dirname } from "node:path";
import { readGgufHeader } from "./gguf-header.ts";
import type { LlamaLibrary } from "./library.ts";

/** The library's number of each file type that is offered. */
const fileTypeIds = {
  f32: 0,
  f16: 1,
  q4_0: 2,
  q4_1: 3,
  q8_0: 7,
  q5_0: 8,
  q5_1: 9,
  q4_k_s: 14,
  q4_k_m: 15,
  q5_k_s: 16,
  q5_k_m: 17,
  q6_k: 18,
  iq4_nl: 25,
  bf16: 32,
} as const;

export type FileType = keyof typeof fileTypeIds;

export const fileTypes: readonly FileType[] = Object.keys(fileTypeIds) as FileType[];

export interface QuantizeOptions {
  readonly from: string;
  /** Overwritten if it exists; removed when converting fails. */
  readonly to: string;
  readonly type: FileType;
  /** Default 1. The result does not depend on it. */
  readonly threads?: number;
}

/**
 * Writes `from` as `to` with weights of the given type, from quantised files too; a split model
 * becomes one file. The same input gives the same bytes. Throws a ModelFileError for a bad input, an Error for anything else.
 */
export function quantizeModel(library: LlamaLibrary, options: QuantizeOptions): void {
  const { functions } = library;
  const [from = options.from] = readGgufHeader(options.from).paths;
  accessSync(dirname(options.to), constants.W_OK);
  const params = functions.llama_model_quantize_default_params();
  params.nthread = options.threads ?? 1;
  params.ftype = fileTypeIds[options.type];
  params.allow_requantize = true;
  if (functions.llama_model_quantize(from, options.to, params) === 0) return;
  rmSync(options.to, { force: true });
  throw new Error(`The library could not convert ${options.from} to ${options.type}.`);
}

export function isFileType(name: string): name is FileType {
  return Object.hasOwn(fileTypeIds, name);
}
