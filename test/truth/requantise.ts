/**
 * Writes a model file again with another weight type, by the native library alone:
 * `node test/truth/requantise.ts FROM.gguf TO.gguf [q8_0|q4_0|f16|bf16|f32]`.
 */
import koffi from "koffi";
import { openNativeLibrary } from "./native-library.ts";

/** The library's numbers for file types. */
const FILE_TYPE: Readonly<Record<string, number>> = { f32: 0, f16: 1, q4_0: 2, q8_0: 7, bf16: 32 };
const USAGE = "requantise: FROM.gguf TO.gguf [q8_0|q4_0|f16|bf16|f32]";

const parameters = koffi.struct("TruthQuantizeParameters", {
  threads: "int32_t",
  fileType: "int32_t",
  outputType: "int32_t",
  embeddingType: "int32_t",
  allowRequantize: "bool",
  quantizeOutput: "bool",
  onlyCopy: "bool",
  pure: "bool",
  keepSplit: "bool",
  dryRun: "bool",
  importance: "void *",
  overrides: "void *",
  tensorTypes: "void *",
  prunedLayers: "void *",
  bufferBytes: "size_t",
});

const [from, to, typeName = "q8_0"] = process.argv.slice(2);
const fileType = FILE_TYPE[typeName];
if (from === undefined || to === undefined || fileType === undefined) {
  process.stderr.write(`${USAGE}\n`);
  process.exit(1);
}
const library = openNativeLibrary();
const defaults = library.func("llama_model_quantize_default_params", parameters, [])();
const quantize = library.func("llama_model_quantize", "uint32_t", [
  "str",
  "str",
  koffi.pointer(parameters),
]);
const code = quantize(from, to, { ...defaults, threads: 1, fileType, allowRequantize: true });
if (code !== 0) {
  process.stderr.write(`requantise: the library answered ${code}\n`);
  process.exit(1);
}
