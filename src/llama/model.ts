/** A model in memory: loading it, freeing it, and what it says about itself. */
import koffi from "koffi";
import type { LlamaFunctions } from "./bindings.ts";
import { loadWithoutCopy } from "./file-copy.ts";
import { readGgufHeader } from "./gguf-header.ts";
import type { Pointer } from "./layouts.ts";
import type { LlamaLibrary } from "./library.ts";
import { ModelFileError } from "./model-file-error.ts";

export interface ModelOptions {
  readonly path: string;
  /** Layers computed by a GPU; -1: all. 0 also keeps every GPU out of the computation. */
  readonly gpuLayers?: number;
  /** Repack weights for speed (`NumericsPlan.repackWeights`). */
  readonly repackWeights?: boolean;
  /** Check every weight for being a number. Takes seconds on large files. */
  readonly checkTensors?: boolean;
  /** Load the vocabulary and the metadata only; such a model evaluates nothing. */
  readonly vocabularyOnly?: boolean;
}

export interface ModelFacts {
  /** The library's short description, for example `llama 135M Q8_0`. */
  readonly description: string;
  readonly layers: number;
  readonly gpuLayers: number;
  /** Tokens of context the model was trained for. */
  readonly trainedContextLength: number;
  /** Number and name of the main weight type, for example 7 and `Q8_0`. */
  readonly fileType: number;
  readonly fileTypeName: string;
  /** Bytes of all tensors. */
  readonly weightBytes: number;
  readonly parameterCount: number;
  /** Positions the sliding attention window spans; 0: attention sees everything. */
  readonly slidingWindow: number;
  /** The state of a sequence cannot be cut back (Mamba, RWKV), or only in part (Jamba, ...). */
  readonly isRecurrent: boolean;
  readonly isHybrid: boolean;
}

/** `enum llama_load_mode` */
const loadMode = { auto: -1, read: 0 } as const;
/** Called from the thread that loads; false ends the load. */
const progressCallback = koffi.proto("bool progress(float share, void *userData)");
const metadataEntriesMax = 65_536;
const metadataValueBytes = 64 * 1024;

export class Model {
  readonly functions: LlamaFunctions;
  readonly facts: ModelFacts;
  /** The `llama_vocab` of the model; lives as long as the model. */
  readonly vocabulary: Pointer;
  #pointer: Pointer;

  private constructor(functions: LlamaFunctions, pointer: Pointer, gpuLayers: number) {
    this.functions = functions;
    this.#pointer = pointer;
    this.vocabulary = functions.llama_model_get_vocab(pointer);
    this.facts = readFacts(functions, pointer, gpuLayers);
  }

  /**
   * Loads a model. Throws a ModelFileError: the file's own problems are found before the library
   * sees it; `refused` means that the library's log has the reason (`explainRefusal`).
   */
  static load(library: LlamaLibrary, options: ModelOptions): Model {
    const { path } = options;
    const { architecture, paths } = readGgufHeader(path);
    const { functions } = library;
    const gpuLayers = options.gpuLayers ?? 0;
    const params = functions.llama_model_default_params();
    params.n_gpu_layers = gpuLayers;
    params.use_extra_bufts = options.repackWeights ?? true;
    params.check_tensors = options.checkTensors ?? false;
    params.vocab_only = options.vocabularyOnly ?? false;
    const noDevices = new BigUint64Array(new ArrayBuffer(8));
    if (gpuLayers === 0) params.devices = koffi.address(noDevices);
    const pointer = loadWithoutCopy(paths, ({ mapsFile, goesOn }) => {
      params.load_mode = mapsFile ? loadMode.auto : loadMode.read;
      params.progress_callback = koffi.register(goesOn, koffi.pointer(progressCallback));
      const loaded = functions.llama_model_load_from_file(paths[0] ?? path, params);
      koffi.unregister(params.progress_callback);
      return loaded;
    });
    if (pointer === null) {
      throw new ModelFileError(
        "refused",
        path,
        `The model file ${path} (architecture ${architecture}) was refused by the library.`,
      );
    }
    const generates =
      functions.llama_model_has_decoder(pointer) &&
      !functions.llama_model_has_encoder(pointer) &&
      !functions.llama_model_is_diffusion(pointer);
    if (!generates) {
      functions.llama_model_free(pointer);
      throw new ModelFileError(
        "unsupported",
        path,
        `The model file ${path} (architecture ${architecture}) does not complete text.`,
      );
    }
    return new Model(functions, pointer, gpuLayers);
  }

  /** The `llama_model`. Throws after `free`. */
  get pointer(): Pointer {
    if (this.#pointer === null) throw new Error("The model has been freed.");
    return this.#pointer;
  }

  /** The chat template of the file, if it has one. */
  get chatTemplate(): string | undefined {
    return this.functions.llama_model_chat_template(this.pointer, null) ?? undefined;
  }

  /** Single metadata values as text; values over 64 KiB are cut. */
  metadata(): ReadonlyMap<string, string> {
    const { functions, pointer } = this;
    const buffer = new Uint8Array(metadataValueBytes);
    const count = Math.min(functions.llama_model_meta_count(pointer), metadataEntriesMax);
    const entries = new Map<string, string>();
    for (let index = 0; index < count; index += 1) {
      const size = functions.llama_model_meta_key_by_index(pointer, index, buffer, buffer.length);
      const key = textIn(buffer, size);
      const length = functions.llama_model_meta_val_str_by_index(
        pointer,
        index,
        buffer,
        buffer.length,
      );
      if (size >= 0 && length >= 0) entries.set(key, textIn(buffer, length));
    }
    return entries;
  }

  /** Frees the memory; contexts of the model must be gone. More than once does nothing. */
  free(): void {
    if (this.#pointer !== null) this.functions.llama_model_free(this.#pointer);
    this.#pointer = null;
  }
}

/**
 * The reason of a `refused` file, from the library's log lines: one sentence. Undefined when the
 * lines do not tell.
 */
export function explainRefusal(
  path: string,
  logLines: Iterable<string>,
): ModelFileError | undefined {
  for (const line of logLines) {
    const architecture = /unknown model architecture: '([^']*)'/.exec(line)?.[1];
    if (architecture !== undefined) {
      return new ModelFileError(
        "unsupported",
        path,
        `The model file ${path} has the architecture ${architecture}, which this version does not ` +
          "know.",
      );
    }
    const reason = /error loading model:\s*(.+)/.exec(line)?.[1];
    if (reason !== undefined) {
      const message = `The model file ${path} was refused by the library: ${reason.trim()}.`;
      return new ModelFileError("refused", path, message);
    }
  }
  return undefined;
}

function readFacts(functions: LlamaFunctions, model: Pointer, gpuLayers: number): ModelFacts {
  const buffer = new Uint8Array(256);
  const length = functions.llama_model_desc(model, buffer, buffer.length);
  const fileType = functions.llama_model_ftype(model);
  return {
    description: textIn(buffer, length),
    layers: functions.llama_model_n_layer(model),
    gpuLayers,
    trainedContextLength: functions.llama_model_n_ctx_train(model),
    fileType,
    fileTypeName: functions.llama_ftype_name(fileType) ?? "unknown",
    weightBytes: Number(functions.llama_model_size(model)),
    parameterCount: Number(functions.llama_model_n_params(model)),
    slidingWindow: functions.llama_model_n_swa(model),
    isRecurrent: functions.llama_model_is_recurrent(model),
    isHybrid: functions.llama_model_is_hybrid(model),
  };
}

/** The library says how long the text is, and cuts what it writes; a zero byte ends it. */
function textIn(buffer: Uint8Array, length: number): string {
  const written = Math.max(0, Math.min(length, buffer.length - 1));
  return new TextDecoder().decode(buffer.subarray(0, written));
}
