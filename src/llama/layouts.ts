/**
 * Memory layouts of the structs that cross into libllama, member by member as its header of the
 * pinned release declares them. Only `library.ts` uses them, and only after `abi-guard.ts` agreed.
 */
import koffi from "koffi";

/** An address in native memory; null is the null pointer. */
export type Pointer = bigint | null;

/** `struct llama_model_params` */
export interface ModelParams {
  devices: Pointer;
  tensor_buft_overrides: Pointer;
  n_gpu_layers: number;
  split_mode: number;
  load_mode: number;
  lazy_mode: number;
  main_gpu: number;
  tensor_split: Pointer;
  progress_callback: Pointer;
  progress_callback_user_data: Pointer;
  kv_overrides: Pointer;
  vocab_only: boolean;
  check_tensors: boolean;
  use_extra_bufts: boolean;
  no_host: boolean;
  no_alloc: boolean;
  load_mtp: boolean;
}

/** `struct llama_context_params` */
export interface ContextParams {
  n_ctx: number;
  n_batch: number;
  n_ubatch: number;
  n_seq_max: number;
  n_rs_seq: number;
  n_outputs_max: number;
  n_outputs_max_per_seq: number;
  n_threads: number;
  n_threads_batch: number;
  ctx_type: number;
  rope_scaling_type: number;
  pooling_type: number;
  attention_type: number;
  flash_attn_type: number;
  rope_freq_base: number;
  rope_freq_scale: number;
  yarn_ext_factor: number;
  yarn_attn_factor: number;
  yarn_beta_fast: number;
  yarn_beta_slow: number;
  yarn_orig_ctx: number;
  defrag_thold: number;
  cb_eval: Pointer;
  cb_eval_user_data: Pointer;
  type_k: number;
  type_v: number;
  abort_callback: Pointer;
  abort_callback_data: Pointer;
  embeddings: boolean;
  offload_kqv: boolean;
  no_perf: boolean;
  op_offload: boolean;
  swa_full: boolean;
  kv_unified: boolean;
  samplers: Pointer;
  n_samplers: number | bigint;
  ctx_other: Pointer;
}

/** `struct llama_batch` */
export interface Batch {
  n_tokens: number;
  token: Pointer;
  embd: Pointer;
  pos: Pointer;
  n_seq_id: Pointer;
  seq_id: Pointer;
  logits: Pointer;
}

/** `struct llama_model_quantize_params` */
export interface QuantizeParams {
  nthread: number;
  ftype: number;
  output_tensor_type: number;
  token_embedding_type: number;
  allow_requantize: boolean;
  quantize_output_tensor: boolean;
  only_copy: boolean;
  pure: boolean;
  keep_split: boolean;
  dry_run: boolean;
  imatrix: Pointer;
  kv_overrides: Pointer;
  tt_overrides: Pointer;
  prune_layers: Pointer;
  max_buf_size: number | bigint;
}

/** Members in memory order; the type demands every member of the interface. */
type Members<T> = { readonly [name in keyof T]-?: string };

export const modelParamsMembers: Members<ModelParams> = {
  devices: "void *",
  tensor_buft_overrides: "void *",
  n_gpu_layers: "int32",
  split_mode: "int32",
  load_mode: "int32",
  lazy_mode: "int32",
  main_gpu: "int32",
  tensor_split: "void *",
  progress_callback: "void *",
  progress_callback_user_data: "void *",
  kv_overrides: "void *",
  vocab_only: "bool",
  check_tensors: "bool",
  use_extra_bufts: "bool",
  no_host: "bool",
  no_alloc: "bool",
  load_mtp: "bool",
};

export const contextParamsMembers: Members<ContextParams> = {
  n_ctx: "uint32",
  n_batch: "uint32",
  n_ubatch: "uint32",
  n_seq_max: "uint32",
  n_rs_seq: "uint32",
  n_outputs_max: "uint32",
  n_outputs_max_per_seq: "uint32",
  n_threads: "int32",
  n_threads_batch: "int32",
  ctx_type: "int32",
  rope_scaling_type: "int32",
  pooling_type: "int32",
  attention_type: "int32",
  flash_attn_type: "int32",
  rope_freq_base: "float",
  rope_freq_scale: "float",
  yarn_ext_factor: "float",
  yarn_attn_factor: "float",
  yarn_beta_fast: "float",
  yarn_beta_slow: "float",
  yarn_orig_ctx: "uint32",
  defrag_thold: "float",
  cb_eval: "void *",
  cb_eval_user_data: "void *",
  type_k: "int32",
  type_v: "int32",
  abort_callback: "void *",
  abort_callback_data: "void *",
  embeddings: "bool",
  offload_kqv: "bool",
  no_perf: "bool",
  op_offload: "bool",
  swa_full: "bool",
  kv_unified: "bool",
  samplers: "void *",
  n_samplers: "size_t",
  ctx_other: "void *",
};

export const batchMembers: Members<Batch> = {
  n_tokens: "int32",
  token: "void *",
  embd: "void *",
  pos: "void *",
  n_seq_id: "void *",
  seq_id: "void *",
  logits: "void *",
};

export const quantizeParamsMembers: Members<QuantizeParams> = {
  nthread: "int32",
  ftype: "int32",
  output_tensor_type: "int32",
  token_embedding_type: "int32",
  allow_requantize: "bool",
  quantize_output_tensor: "bool",
  only_copy: "bool",
  pure: "bool",
  keep_split: "bool",
  dry_run: "bool",
  imatrix: "void *",
  kv_overrides: "void *",
  tt_overrides: "void *",
  prune_layers: "void *",
  max_buf_size: "size_t",
};

export const layouts = {
  modelParams: koffi.struct(modelParamsMembers),
  contextParams: koffi.struct(contextParamsMembers),
  batch: koffi.struct(batchMembers),
  quantizeParams: koffi.struct(quantizeParamsMembers),
};
