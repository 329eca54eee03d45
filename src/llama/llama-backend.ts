/**
 * The scheduler's backend over one llama context. Each sequence has a key-value cache of its own,
 * so that no sequence's numbers depend on what the others hold.
 */
import koffi from "koffi";
import type { Backend, Row } from "../scheduler/backend.ts";
import type { LlamaFunctions } from "./bindings.ts";
import { DecodeError } from "./decode-error.ts";
import type { Pointer } from "./layouts.ts";
import type { Model } from "./model.ts";
import type { NumericsPlan } from "./numerics.ts";
import { RowBatch } from "./row-batch.ts";
import { tensorTypeId } from "./tensor-types.ts";

export const cacheTypes = ["f32", "f16", "bf16", "q8_0", "q4_0"] as const;
/** Number format of the cached keys or values. */
export type CacheType = (typeof cacheTypes)[number];

export interface BackendOptions {
  readonly model: Model;
  /** Tokens of one sequence. */
  readonly contextLength: number;
  /** Sequences held at once, at most 256. */
  readonly slots: number;
  readonly threads: number;
  readonly numerics: NumericsPlan;
  /** Default f16. */
  readonly keyType?: CacheType;
  /** Default f16. The quantised ones need flash attention, so numerics `fast`. */
  readonly valueType?: CacheType;
  /** Rows of one call; memory for intermediate results grows with it. */
  readonly rowsMax?: number;
}

/** Rows per call unless told: prompt speed gains nothing from more on CPUs. */
export const defaultRowsMax = 512;
const sequencesMax = 256;
const flashAttention = { auto: -1, off: 0 } as const;

export class LlamaBackend implements Backend {
  readonly sequences: number;
  readonly contextLength: number;
  readonly vocabularySize: number;
  readonly rowsMax: number;
  readonly #functions: LlamaFunctions;
  readonly #batch: RowBatch;
  readonly #memory: Pointer;
  #context: Pointer;
  /**
   * Views by address: the library writes logits to the same places step after step. Only addresses
   * it has just named are looked up, so a view of memory it has given back is never used.
   */
  readonly #views = new Map<Pointer, Float32Array>();

  /** Throws a RangeError for impossible options, an Error when memory does not suffice. */
  constructor(options: BackendOptions) {
    const { model } = options;
    this.#functions = model.functions;
    this.sequences = options.slots;
    this.contextLength = options.contextLength;
    this.rowsMax = Math.min(
      Math.max(options.rowsMax ?? defaultRowsMax, 2 * options.slots),
      options.contextLength * options.slots,
    );
    this.vocabularySize = this.#functions.llama_vocab_n_tokens(model.vocabulary);
    this.#context = createContext(options, this.rowsMax);
    this.#memory = this.#functions.llama_get_memory(this.#context);
    const { outputRowsMin } = options.numerics;
    this.#batch = new RowBatch(this.rowsMax, this.sequences, outputRowsMin);
  }

  /** Throws a DecodeError, or a RangeError for rows that do not fit. */
  decode(rows: readonly Row[]): void {
    if (rows.length === 0 || rows.length > this.rowsMax) {
      throw new RangeError(`a step takes 1 to ${this.rowsMax} rows, not ${rows.length}`);
    }
    const code = this.#functions.llama_decode(this.#open(), this.#batch.fill(rows));
    if (code !== 0) throw new DecodeError(code, rows.length);
  }

  logits(index: number): Float32Array {
    const place = this.#batch.placeOf(index);
    const address = this.#functions.llama_get_logits_ith(this.#open(), place);
    if (address === null) throw new RangeError(`row ${index} of the last step has no logits`);
    const known = this.#views.get(address);
    if (known !== undefined) return known;
    // The library moves its rows when it needs room for more: forget the old places then.
    if (this.#views.size >= 2 * this.rowsMax) this.#views.clear();
    const view = new Float32Array(koffi.view(address, this.vocabularySize * 4));
    this.#views.set(address, view);
    return view;
  }

  copySequence(from: number, to: number): void {
    if (from === to) return;
    this.#functions.llama_memory_seq_rm(this.#memory, to, -1, -1);
    // Separate caches can only be copied whole.
    this.#functions.llama_memory_seq_cp(this.#memory, from, to, -1, -1);
  }

  trimSequence(sequence: number, length: number): boolean {
    return this.#functions.llama_memory_seq_rm(this.#memory, sequence, length, -1);
  }

  /** Tokens a sequence holds, by the library's own count. */
  sequenceLength(sequence: number): number {
    return this.#functions.llama_memory_seq_pos_max(this.#memory, sequence) + 1;
  }

  /** Takes effect with the next step. */
  setThreads(threads: number): void {
    this.#functions.llama_set_n_threads(this.#open(), threads, threads);
  }

  /** Frees the context; the model stays. */
  close(): void {
    this.#views.clear();
    if (this.#context !== null) this.#functions.llama_free(this.#context);
    this.#context = null;
  }

  #open(): Pointer {
    if (this.#context === null) throw new Error("The backend has been closed.");
    return this.#context;
  }
}

function createContext(options: BackendOptions, rowsMax: number): Pointer {
  const { model, slots, contextLength, threads, numerics } = options;
  const keyType = options.keyType ?? "f16";
  const valueType = options.valueType ?? "f16";
  if (slots < 1 || slots > sequencesMax) {
    throw new RangeError(`slots must be 1 to ${sequencesMax}, not ${slots}`);
  }
  const quantized = valueType === "q8_0" || valueType === "q4_0";
  if (quantized && numerics.flashAttention === "off") {
    throw new RangeError(`values cached as ${valueType} need numerics fast`);
  }
  const params = model.functions.llama_context_default_params();
  params.n_ctx = contextLength * slots;
  params.n_seq_max = slots;
  params.n_batch = rowsMax;
  params.n_ubatch = rowsMax;
  params.n_outputs_max_per_seq = 0;
  params.n_threads = threads;
  params.n_threads_batch = threads;
  params.flash_attn_type = flashAttention[numerics.flashAttention];
  params.kv_unified = false;
  params.no_perf = true;
  params.type_k = cacheTypeId(keyType);
  params.type_v = cacheTypeId(valueType);
  // A GPU takes over large products even of a model that was loaded without one, unless told.
  params.op_offload = model.facts.gpuLayers !== 0;
  params.offload_kqv = model.facts.gpuLayers !== 0;
  const context = model.functions.llama_init_from_model(model.pointer, params);
  if (context === null) {
    throw new Error(
      `The library could not set up ${slots} sequences of ${contextLength} tokens; memory may not ` +
        "suffice: use fewer slots or a shorter context.",
    );
  }
  return context;
}

function cacheTypeId(type: CacheType): number {
  const id = tensorTypeId(type);
  if (id === undefined) throw new RangeError(`the cache format ${type} is unknown`);
  return id;
}
