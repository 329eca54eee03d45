/** Converts a model file to another weight type through the library. */
import { accessSync, constants, rmSync } from "node:fs";
import { dirname } from "node:path";
import { type FileType, fileTypeId } from "./file-types.ts";
import { readGgufHeader } from "./gguf-header.ts";
import type { LlamaLibrary } from "./library.ts";
import { tensorTypeId } from "./tensor-types.ts";

/**
 * A Q4_0 file would get its output matrix as Q6_K. As Q8_0 it is more precise, and all matrices are
 * of types that may be repacked without other bits (`planNumerics`).
 */
const outputTypes: Partial<Record<FileType, string>> = { q4_0: "Q8_0" };

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
  params.ftype = fileTypeId(options.type);
  const outputType = tensorTypeId(outputTypes[options.type] ?? "");
  if (outputType !== undefined) params.output_tensor_type = outputType;
  params.allow_requantize = true;
  if (functions.llama_model_quantize(from, options.to, params) === 0) return;
  rmSync(options.to, { force: true });
  throw new Error(`The library could not convert ${options.from} to ${options.type}.`);
}
