/**
 * The functions of libllama that we call, with their C signatures. Names stay as in C, so that
 * its header is their documentation.
 */
import koffi, { type LibraryHandle, type TypeObject } from "koffi";
import type { Pointer, QuantizeParams } from "./layouts.ts";
import { type Batch, type ContextParams, layouts, type ModelParams } from "./layouts.ts";

export interface LlamaFunctions {
  llama_version(): string;
  llama_backend_init(): void;
  llama_log_set(callback: Pointer, userData: Pointer): void;
  llama_max_parallel_sequences(): number;
  llama_supports_gpu_offload(): boolean;

  llama_model_default_params(): ModelParams;
  llama_context_default_params(): ContextParams;
  llama_model_quantize_default_params(): QuantizeParams;

  llama_model_load_from_file(path: string, params: ModelParams): Pointer;
  llama_model_free(model: Pointer): void;
  llama_model_quantize(from: string, to: string, params: QuantizeParams): number;
  llama_model_get_vocab(model: Pointer): Pointer;
  llama_model_n_ctx_train(model: Pointer): number;
  llama_model_n_layer(model: Pointer): number;
  llama_model_n_swa(model: Pointer): number;
  llama_model_ftype(model: Pointer): number;
  llama_ftype_name(fileType: number): string | null;
  llama_model_size(model: Pointer): number | bigint;
  llama_model_n_params(model: Pointer): number | bigint;
  llama_model_desc(model: Pointer, buffer: Uint8Array, bytes: number): number;
  llama_model_chat_template(model: Pointer, name: string | null): string | null;
  llama_model_has_encoder(model: Pointer): boolean;
  llama_model_has_decoder(model: Pointer): boolean;
  llama_model_is_recurrent(model: Pointer): boolean;
  llama_model_is_hybrid(model: Pointer): boolean;
  llama_model_is_diffusion(model: Pointer): boolean;
  llama_model_meta_count(model: Pointer): number;
  llama_model_meta_key_by_index(m: Pointer, index: number, out: Uint8Array, n: number): number;
  llama_model_meta_val_str_by_index(m: Pointer, index: number, out: Uint8Array, n: number): number;

  llama_vocab_n_tokens(vocabulary: Pointer): number;
  llama_vocab_get_text(vocabulary: Pointer, token: number): string | null;
  llama_vocab_get_attr(vocabulary: Pointer, token: number): number;
  llama_vocab_is_eog(vocabulary: Pointer, token: number): boolean;
  llama_vocab_bos(vocabulary: Pointer): number;
  llama_vocab_eos(vocabulary: Pointer): number;
  llama_vocab_pad(vocabulary: Pointer): number;
  llama_vocab_get_add_bos(vocabulary: Pointer): boolean;
  llama_vocab_get_add_eos(vocabulary: Pointer): boolean;
  llama_vocab_fim_pre(vocabulary: Pointer): number;
  llama_vocab_fim_suf(vocabulary: Pointer): number;
  llama_vocab_fim_mid(vocabulary: Pointer): number;
  llama_token_to_piece(
    vocabulary: Pointer,
    token: number,
    out: Uint8Array,
    bytes: number,
    stripped: number,
    special: boolean,
  ): number;
  llama_tokenize(
    vocabulary: Pointer,
    text: Uint8Array,
    bytes: number,
    out: Int32Array,
    tokensMax: number,
    addSpecial: boolean,
    parseSpecial: boolean,
  ): number;

  /** `llama_tokenize` on a thread of its own; the arrays must live until it calls back. */
  tokenizeApart: TokenizeApart;

  llama_init_from_model(model: Pointer, params: ContextParams): Pointer;
  llama_free(context: Pointer): void;
  llama_n_ctx_seq(context: Pointer): number;
  llama_set_n_threads(context: Pointer, threads: number, threadsBatch: number): void;
  llama_decode(context: Pointer, batch: Batch): number;
  llama_get_logits_ith(context: Pointer, index: number): Pointer;
  llama_get_memory(context: Pointer): Pointer;
  llama_memory_seq_rm(memory: Pointer, sequence: number, from: number, to: number): boolean;
  llama_memory_seq_cp(memory: Pointer, from: number, to: number, p0: number, p1: number): void;
  llama_memory_seq_pos_min(memory: Pointer, sequence: number): number;
  llama_memory_seq_pos_max(memory: Pointer, sequence: number): number;
}

export type TokenizeApart = (
  ...parameters: [
    ...Parameters<LlamaFunctions["llama_tokenize"]>,
    done: (error: Error | null, count: number) => void,
  ]
) => void;

type Type = string | TypeObject;
type Signature = readonly [result: Type, ...parameters: Type[]];

const pointer = "void *";

const signatures: Readonly<Record<Exclude<keyof LlamaFunctions, "tokenizeApart">, Signature>> = {
  llama_version: ["str"],
  llama_backend_init: ["void"],
  llama_log_set: ["void", pointer, pointer],
  llama_max_parallel_sequences: ["size_t"],
  llama_supports_gpu_offload: ["bool"],

  llama_model_default_params: [layouts.modelParams],
  llama_context_default_params: [layouts.contextParams],
  llama_model_quantize_default_params: [layouts.quantizeParams],

  llama_model_load_from_file: [pointer, "str", layouts.modelParams],
  llama_model_free: ["void", pointer],
  llama_model_quantize: ["uint32", "str", "str", koffi.pointer(layouts.quantizeParams)],
  llama_model_get_vocab: [pointer, pointer],
  llama_model_n_ctx_train: ["int32", pointer],
  llama_model_n_layer: ["int32", pointer],
  llama_model_n_swa: ["int32", pointer],
  llama_model_ftype: ["int32", pointer],
  llama_ftype_name: ["str", "int32"],
  llama_model_size: ["uint64", pointer],
  llama_model_n_params: ["uint64", pointer],
  llama_model_desc: ["int32", pointer, pointer, "size_t"],
  llama_model_chat_template: ["str", pointer, "str"],
  llama_model_has_encoder: ["bool", pointer],
  llama_model_has_decoder: ["bool", pointer],
  llama_model_is_recurrent: ["bool", pointer],
  llama_model_is_hybrid: ["bool", pointer],
  llama_model_is_diffusion: ["bool", pointer],
  llama_model_meta_count: ["int32", pointer],
  llama_model_meta_key_by_index: ["int32", pointer, "int32", pointer, "size_t"],
  llama_model_meta_val_str_by_index: ["int32", pointer, "int32", pointer, "size_t"],

  llama_vocab_n_tokens: ["int32", pointer],
  llama_vocab_get_text: ["str", pointer, "int32"],
  llama_vocab_get_attr: ["int32", pointer, "int32"],
  llama_vocab_is_eog: ["bool", pointer, "int32"],
  llama_vocab_bos: ["int32", pointer],
  llama_vocab_eos: ["int32", pointer],
  llama_vocab_pad: ["int32", pointer],
  llama_vocab_get_add_bos: ["bool", pointer],
  llama_vocab_get_add_eos: ["bool", pointer],
  llama_vocab_fim_pre: ["int32", pointer],
  llama_vocab_fim_suf: ["int32", pointer],
  llama_vocab_fim_mid: ["int32", pointer],
  llama_token_to_piece: ["int32", pointer, "int32", pointer, "int32", "int32", "bool"],
  llama_tokenize: ["int32", pointer, pointer, "int32", pointer, "int32", "bool", "bool"],

  llama_init_from_model: [pointer, pointer, layouts.contextParams],
  llama_free: ["void", pointer],
  llama_n_ctx_seq: ["uint32", pointer],
  llama_set_n_threads: ["void", pointer, "int32", "int32"],
  llama_decode: ["int32", pointer, layouts.batch],
  llama_get_logits_ith: [pointer, pointer, "int32"],
  llama_get_memory: [pointer, pointer],
  llama_memory_seq_rm: ["bool", pointer, "int32", "int32", "int32"],
  llama_memory_seq_cp: ["void", pointer, "int32", "int32", "int32", "int32"],
  llama_memory_seq_pos_min: ["int32", pointer, "int32"],
  llama_memory_seq_pos_max: ["int32", pointer, "int32"],
};

/** Declares every function; throws when the library lacks one. */
export function bindFunctions(library: LibraryHandle): LlamaFunctions {
  const bound: Record<string, unknown> = {};
  for (const [name, [result, ...parameters]] of Object.entries(signatures)) {
    bound[name] = library.func(name, result, parameters);
  }
  bound.tokenizeApart = (bound.llama_tokenize as { async: TokenizeApart }).async;
  // The table above has an entry for each member; that entries match the C header is on us.
  return bound as unknown as LlamaFunctions;
}
