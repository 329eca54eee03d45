/**
 * One model with one sequence: evaluates tokens and shows raw logits. No cache, no sampling, all
 * calls synchronous.
 */
import koffi, { type LibraryHandle } from "koffi";
import { openNativeLibrary } from "./native-library.ts";

export interface NativeSettings {
  readonly threads: number;
  readonly contextLength: number;
  readonly flashAttention: boolean;
  /** Whether the library may repack weights for faster kernels. */
  readonly extraBuffers: boolean;
}

/** Rows of one call; the library splits nothing when micro-batch and batch are equal. */
const BATCH_ROWS = 512;

const pointer = "void *";
const modelParameters = koffi.struct("TruthModelParameters", {
  devices: pointer,
  bufferOverrides: pointer,
  gpuLayers: "int32_t",
  splitMode: "int32_t",
  loadMode: "int32_t",
  lazyMode: "int32_t",
  mainGpu: "int32_t",
  tensorSplit: pointer,
  progress: pointer,
  progressData: pointer,
  overrides: pointer,
  vocabularyOnly: "bool",
  checkTensors: "bool",
  extraBuffers: "bool",
  noHost: "bool",
  noAllocation: "bool",
  loadPrediction: "bool",
});
const contextParameters = koffi.struct("TruthContextParameters", {
  contextLength: "uint32_t",
  batchRows: "uint32_t",
  microBatchRows: "uint32_t",
  sequences: "uint32_t",
  snapshots: "uint32_t",
  outputs: "uint32_t",
  outputsPerSequence: "uint32_t",
  threads: "int32_t",
  batchThreads: "int32_t",
  contextType: "int32_t",
  ropeScaling: "int32_t",
  pooling: "int32_t",
  attention: "int32_t",
  flashAttention: "int32_t",
  floats: koffi.array("float", 6),
  yarnContext: "uint32_t",
  defragment: "float",
  evaluate: pointer,
  evaluateData: pointer,
  keyType: "int32_t",
  valueType: "int32_t",
  abort: pointer,
  abortData: pointer,
  embeddings: "bool",
  offloadCache: "bool",
  noTimings: "bool",
  offloadOperations: "bool",
  fullWindow: "bool",
  unified: "bool",
  samplers: pointer,
  samplerCount: "size_t",
  other: pointer,
});
const batch = koffi.struct("TruthBatch", {
  length: "int32_t",
  token: pointer,
  embedding: pointer,
  position: pointer,
  sequenceCount: pointer,
  sequence: pointer,
  logits: pointer,
});

interface Functions {
  decode(context: bigint, batch: object): number;
  logits(context: bigint, row: number): bigint;
  clear(memory: bigint, data: boolean): void;
  memory(context: bigint): bigint;
  tokenize(
    vocabulary: bigint,
    text: Uint8Array,
    length: number,
    tokens: Int32Array,
    most: number,
    addSpecial: boolean,
    parseSpecial: boolean,
  ): number;
}

export class NativeModel {
  readonly vocabularySize: number;
  readonly version: string;
  readonly #functions: Functions;
  readonly #context: bigint;
  readonly #vocabulary: bigint;

  constructor(path: string, settings: NativeSettings) {
    const library = openNativeLibrary();
    this.version = library.func("llama_version", "str", [])();
    const model = loadModel(library, path, settings);
    this.#context = openContext(library, model, settings);
    this.#vocabulary = library.func("llama_model_get_vocab", pointer, [pointer])(model);
    this.vocabularySize = library.func("llama_vocab_n_tokens", "int32_t", [pointer])(
      this.#vocabulary,
    );
    this.#functions = {
      decode: library.func("llama_decode", "int32_t", [pointer, batch]),
      logits: library.func("llama_get_logits_ith", pointer, [pointer, "int32_t"]),
      clear: library.func("llama_memory_clear", "void", [pointer, "bool"]),
      memory: library.func("llama_get_memory", pointer, [pointer]),
      tokenize: library.func("llama_tokenize", "int32_t", [
        pointer,
        pointer,
        "int32_t",
        pointer,
        "int32_t",
        "bool",
        "bool",
      ]),
    };
  }

  /** Tokens of plain text, special names in it not read as such; with the model's own BOS. */
  tokenize(text: string): number[] {
    const bytes = new TextEncoder().encode(text);
    const tokens = new Int32Array(bytes.length + 8);
    const count = this.#functions.tokenize(
      this.#vocabulary,
      bytes,
      bytes.length,
      tokens,
      tokens.length,
      true,
      false,
    );
    if (count < 0) throw new Error("the library could not tokenize the text");
    return [...tokens.subarray(0, count)];
  }

  forget(): void {
    this.#functions.clear(this.#functions.memory(this.#context), true);
  }

  /** Evaluates tokens from a position on and shows each row of logits in turn. */
  evaluate(
    tokens: readonly number[],
    position: number,
    onRow: (logits: Float32Array, row: number) => void,
  ): void {
    const length = tokens.length;
    if (length > BATCH_ROWS) throw new RangeError(`a chunk has at most ${BATCH_ROWS} rows`);
    const zero = Int32Array.of(0);
    const parts = {
      token: Int32Array.from(tokens),
      position: Int32Array.from(tokens, (_, row) => position + row),
      sequenceCount: new Int32Array(length).fill(1),
      sequence: new BigUint64Array(length).fill(koffi.address(zero)),
      logits: new Int8Array(length).fill(1),
    };
    const code = this.#functions.decode(this.#context, { length, embedding: null, ...parts });
    if (code !== 0) throw new Error(`llama_decode answered ${code}`);
    for (let row = 0; row < length; row++) {
      const address = this.#functions.logits(this.#context, row);
      onRow(new Float32Array(koffi.view(address, this.vocabularySize * 4)), row);
    }
    // The native side read through this address until here.
    void zero.length;
  }
}

function loadModel(library: LibraryHandle, path: string, settings: NativeSettings): bigint {
  const parameters = library.func("llama_model_default_params", modelParameters, [])();
  const load = library.func("llama_model_load_from_file", pointer, ["str", modelParameters]);
  const model = load(path, { ...parameters, gpuLayers: 0, extraBuffers: settings.extraBuffers });
  if (model === null) throw new Error(`the library could not load ${path}`);
  return model;
}

function openContext(library: LibraryHandle, model: bigint, settings: NativeSettings): bigint {
  const parameters = library.func("llama_context_default_params", contextParameters, [])();
  if (parameters.batchRows !== 2048 || parameters.microBatchRows !== 512) {
    throw new Error("the library's parameter structure differs from the one declared here");
  }
  const context = library.func("llama_init_from_model", pointer, [pointer, contextParameters])(
    model,
    {
      ...parameters,
      contextLength: settings.contextLength,
      batchRows: BATCH_ROWS,
      microBatchRows: BATCH_ROWS,
      sequences: 1,
      outputsPerSequence: 0,
      threads: settings.threads,
      batchThreads: settings.threads,
      flashAttention: settings.flashAttention ? 1 : 0,
      unified: false,
    },
  );
  if (context === null) throw new Error("the library could not open a context");
  return context;
}
