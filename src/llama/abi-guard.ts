/**
 * Decides whether the library that was opened is the one our layouts were written for. A struct
 * that gained a member passes silently otherwise: every field then lands on its neighbour.
 */
import type { ContextParams, ModelParams, QuantizeParams } from "./layouts.ts";

/** What `llama_version()` of the pinned release says. */
export const pinnedVersion = "0.4.0-dev";

/** Sizes in bytes, as a C compiler gives them on every 64-bit platform we serve. */
export const expectedSizes = {
  modelParams: 80,
  contextParams: 160,
  batch: 56,
  quantizeParams: 64,
} as const;

const expectedModelParams: ModelParams = {
  devices: null,
  tensor_buft_overrides: null,
  n_gpu_layers: -1,
  split_mode: 1,
  load_mode: -1,
  lazy_mode: 1,
  main_gpu: 0,
  tensor_split: null,
  progress_callback: null,
  progress_callback_user_data: null,
  kv_overrides: null,
  vocab_only: false,
  check_tensors: false,
  use_extra_bufts: true,
  no_host: false,
  no_alloc: false,
  load_mtp: false,
};

const expectedContextParams: ContextParams = {
  n_ctx: 512,
  n_batch: 2048,
  n_ubatch: 512,
  n_seq_max: 1,
  n_rs_seq: 0,
  n_outputs_max: 0,
  n_outputs_max_per_seq: 1,
  n_threads: 4,
  n_threads_batch: 4,
  ctx_type: 0,
  rope_scaling_type: -1,
  pooling_type: -1,
  attention_type: -1,
  flash_attn_type: -1,
  rope_freq_base: 0,
  rope_freq_scale: 0,
  yarn_ext_factor: -1,
  yarn_attn_factor: -1,
  yarn_beta_fast: -1,
  yarn_beta_slow: -1,
  yarn_orig_ctx: 0,
  defrag_thold: -1,
  cb_eval: null,
  cb_eval_user_data: null,
  type_k: 1,
  type_v: 1,
  abort_callback: null,
  abort_callback_data: null,
  embeddings: false,
  offload_kqv: true,
  no_perf: true,
  op_offload: true,
  swa_full: true,
  kv_unified: false,
  samplers: null,
  n_samplers: 0,
  ctx_other: null,
};

const expectedQuantizeParams: QuantizeParams = {
  nthread: 0,
  ftype: 7,
  output_tensor_type: 43,
  token_embedding_type: 43,
  allow_requantize: false,
  quantize_output_tensor: true,
  only_copy: false,
  pure: false,
  keep_split: false,
  dry_run: false,
  imatrix: null,
  kv_overrides: null,
  tt_overrides: null,
  prune_layers: null,
  max_buf_size: 8 * 1024 ** 3,
};

/** The defaults of the pinned release, by struct. */
export const expectedDefaults = {
  modelParams: expectedModelParams,
  contextParams: expectedContextParams,
  quantizeParams: expectedQuantizeParams,
};

/** What was read from an opened library. */
export interface AbiObservation {
  readonly version: string;
  readonly sizes: Readonly<Record<keyof typeof expectedSizes, number>>;
  readonly modelParams: ModelParams;
  readonly contextParams: ContextParams;
  readonly quantizeParams: QuantizeParams;
}

export class AbiError extends Error {
  readonly differences: readonly string[];

  constructor(differences: readonly string[]) {
    super(
      "The installed llama.cpp library does not match this version of completionist " +
        `(${differences.slice(0, 3).join("; ")}); install @node-llama-cpp packages of the release ` +
        "that its package.json names.",
    );
    this.name = "AbiError";
    this.differences = differences;
  }
}

/** Every difference to the pinned release, in words; empty: the library may be used. */
export function abiDifferences(observed: AbiObservation): string[] {
  const differences: string[] = [];
  if (observed.version !== pinnedVersion) {
    differences.push(`its version is ${observed.version}, not ${pinnedVersion}`);
  }
  for (const [name, size] of Object.entries(expectedSizes)) {
    const found = observed.sizes[name as keyof typeof expectedSizes];
    if (found !== size) differences.push(`${name} has ${found} bytes, not ${size}`);
  }
  for (const [name, defaults] of Object.entries(expectedDefaults)) {
    const found: object = observed[name as keyof typeof expectedDefaults];
    differences.push(...memberDifferences(name, defaults, new Map(Object.entries(found))));
  }
  return differences;
}

/** Throws an AbiError unless everything agrees. */
export function guardAbi(observed: AbiObservation): void {
  const differences = abiDifferences(observed);
  if (differences.length > 0) throw new AbiError(differences);
}

function memberDifferences(
  struct: string,
  expected: object,
  found: ReadonlyMap<string, unknown>,
): string[] {
  const differences: string[] = [];
  for (const [member, value] of Object.entries(expected)) {
    const actual = found.get(member);
    // Pointer-sized integers may arrive as bigint, and a null pointer as 0n.
    const same = value === null ? actual === null || actual === 0n : equalScalars(value, actual);
    if (!same) differences.push(`${struct}.${member} is ${String(actual)}, not ${String(value)}`);
  }
  if (found.size !== Object.keys(expected).length) {
    differences.push(`${struct} has ${found.size} members, not ${Object.keys(expected).length}`);
  }
  return differences;
}

function equalScalars(expected: unknown, actual: unknown): boolean {
  if (typeof actual === "bigint") return BigInt(Number(expected)) === actual;
  return expected === actual;
}
