/**
 * What a model will take in memory, from its header alone, before anything large is allocated.
 * How the library sizes its buffers was measured with the pinned release: the key-value cache
 * agrees to the byte, the whole within a tenth (docs/guides/speed-and-memory.md).
 */
import { EngineSizeError } from "./engine-size-error.ts";
import type { GgufHeader } from "./gguf-header.ts";
import { type CacheType, defaultRowsMax } from "./llama-backend.ts";
import { type NumericsMode, planNumerics } from "./numerics.ts";
import { type TensorType, tensorType, tensorTypeId } from "./tensor-types.ts";

export interface CacheFormat {
  readonly numerics: NumericsMode;
  /** Number format of the cached keys; of the values too in `fast`. */
  readonly kvType: CacheType;
}

export interface MemoryOptions extends CacheFormat {
  /** Tokens of one sequence. */
  readonly contextLength: number;
  /** Sequences held at once. */
  readonly slots: number;
  /** Layers whose weights and cache lie in a memory of their own, a GPU's; default 0. */
  readonly gpuLayers?: number;
}

/** Bytes. */
export interface MemoryEstimate {
  readonly weights: number;
  /** Keys and values of all sequences, or their recurrent state. */
  readonly cache: number;
  /** Intermediate results of one call. */
  readonly compute: number;
  /** The process itself, its vocabulary, rows of logits that are kept. */
  readonly overhead: number;
  readonly total: number;
}

type Header = Pick<
  GgufHeader,
  "architecture" | "metadata" | "numberLists" | "lengths" | "matrixTypes" | "weights"
>;

/** Bytes of an engine process that has loaded nothing: the runtime and the native library. */
const processBytes = 110 * 1024 ** 2;
/** A token's text and attributes, in the library's tables and in ours. */
const bytesPerVocabularyToken = 450;
/** Rows whose logits are computed and kept at once at most: a scored chunk. */
const keptRows = 128;
/** The library gives each sequence a whole number of such runs of cells. */
const cellsAtOnce = 256;
/** Weights repacked for speed are a copy with some padding; the file's pages can be given back. */
const repackedShare = 1.125;
const float32Bytes = 4;

/** What an engine with these options takes. All options have to be positive. */
export function estimateMemory(header: Header, options: MemoryOptions): MemoryEstimate {
  const facts = readFacts(header);
  const plan = planNumerics(options.numerics, header.matrixTypes);
  let weights = 0;
  for (const { bytes } of header.weights.values()) weights += bytes;
  if (plan.repackWeights && ![...header.matrixTypes].every(isWide)) weights *= repackedShare;
  const flash = plan.flashAttention !== "off";
  const host = Math.max(0, 1 - (options.gpuLayers ?? 0) / Math.max(1, facts.layers));
  weights *= host;
  const cache = host * cacheBytes(facts, options);
  const compute = computeBytes(facts, options, flash);
  const logitsRow = facts.vocabulary * float32Bytes;
  const overhead =
    processBytes +
    facts.vocabulary * bytesPerVocabularyToken +
    // The library's rows, and the copy of its last row that each slot keeps.
    (Math.max(keptRows, options.slots) + options.slots) * logitsRow;
  const total = weights + cache + compute + overhead;
  return { weights, cache, compute, overhead, total };
}

/** What one token of a sequence takes in the cache; 0 where the state has a fixed size. */
export function cacheBytesPerToken(header: Header, format: CacheFormat): number {
  return cellBytes(readFacts(header), format);
}

/** Throws an EngineSizeError when the heads of this model cannot be cached in that format. */
export function checkCacheFormat(header: Header, { kvType, numerics }: CacheFormat): void {
  const { keyHeads, keyLength, valueLength } = readFacts(header);
  if (keyHeads.every((heads) => heads === 0)) return;
  const { blockLength } = formatOf(kvType);
  const lengths = numerics === "fast" ? [keyLength, valueLength] : [keyLength];
  const unfit = lengths.find((length) => length % blockLength !== 0);
  if (unfit === undefined) return;
  throw new EngineSizeError(
    `--kv-type ${kvType} stores numbers in blocks of ${blockLength}, but this model's heads have ` +
      `${unfit}; use --kv-type f16.`,
  );
}

/** Formats that are never repacked. */
function isWide(type: string): boolean {
  return type === "F32" || type === "F16" || type === "BF16";
}

/** Tokens of context the model was trained for; Infinity when its header does not say. */
export function trainedContextLength(header: Pick<Header, "architecture" | "metadata">): number {
  const value = header.metadata.get(`${header.architecture}.context_length`);
  return typeof value === "number" && value > 0 ? value : Number.POSITIVE_INFINITY;
}

interface Facts {
  readonly layers: number;
  readonly embedding: number;
  readonly heads: number;
  /** Of each layer; 0: the layer keeps no keys. */
  readonly keyHeads: readonly number[];
  readonly keyLength: number;
  readonly valueLength: number;
  /** Width of the widest intermediate result of the layers' second half. */
  readonly inner: number;
  readonly vocabulary: number;
  readonly hasWindow: boolean;
  /** Numbers of state that one sequence keeps in a layer without keys. */
  readonly stateLength: number;
}

function readFacts(header: Header): Facts {
  const { architecture, metadata, numberLists, lengths } = header;
  const key = (name: string): string => `${architecture}.${name}`;
  const number = (name: string): number => {
    const value = Number(metadata.get(key(name)) ?? 0);
    return value > 0 ? value : Math.max(0, ...(numberLists.get(key(name)) ?? []));
  };
  const layers = number("block_count");
  const heads = number("attention.head_count");
  const embedding = number("embedding_length");
  const headLength = heads === 0 ? 0 : embedding / heads;
  const oneForAll = number("attention.head_count_kv") || heads;
  const perLayer = numberLists.get(key("attention.head_count_kv"));
  const experts = number("expert_used_count");
  return {
    layers,
    embedding,
    heads,
    keyHeads: Array.from({ length: layers }, (_, layer) => perLayer?.[layer] ?? oneForAll),
    keyLength: number("attention.key_length") || headLength,
    valueLength: number("attention.value_length") || headLength,
    inner: Math.max(
      number("feed_forward_length"),
      number("ssm.inner_size"),
      experts * (number("expert_feed_forward_length") + embedding),
    ),
    vocabulary: lengths.get("tokenizer.ggml.tokens") ?? number("vocab_size"),
    hasWindow: number("attention.sliding_window") > 0,
    stateLength: stateLength(number, embedding),
  };
}

/** Mamba keeps a convolution's window and a state, RWKV shifted rows and a matrix for each head. */
function stateLength(number: (name: string) => number, embedding: number): number {
  const inner = number("ssm.inner_size");
  if (inner > 0) {
    const state = number("ssm.state_size");
    const window = Math.max(0, number("ssm.conv_kernel") - 1);
    return window * (inner + 2 * number("ssm.group_count") * state) + inner * state;
  }
  const headSize = number("wkv.head_size");
  if (headSize > 0) return embedding * (2 + headSize);
  return embedding * Math.max(0, number("shortconv.l_cache") - 1);
}

function cacheBytes(facts: Facts, options: MemoryOptions): number {
  const { contextLength, slots } = options;
  const cells = Math.ceil(contextLength / cellsAtOnce) * cellsAtOnce;
  const keyless = facts.keyHeads.filter((heads) => heads === 0).length;
  const stateBytes = keyless * facts.stateLength * float32Bytes;
  return slots * (cells * cellBytes(facts, options) + stateBytes);
}

/** Keys and values of one token in all layers. */
function cellBytes(facts: Facts, { kvType, numerics }: CacheFormat): number {
  const keyType = formatOf(kvType);
  const valueType = formatOf(numerics === "fast" ? kvType : "f16");
  let bytes = 0;
  for (const heads of facts.keyHeads) {
    bytes += rowBytes(heads * facts.keyLength, keyType);
    bytes += rowBytes(heads * facts.valueLength, valueType);
  }
  return bytes;
}

/**
 * The larger of two moments of a call: attention (without flash attention each head's products of
 * all rows with all cells, and a mask for each kind of layer), and the logits of the rows that ask
 * for them. The library reserves room for the logits of all rows, which are never asked for at once.
 */
function computeBytes(facts: Facts, options: MemoryOptions, flash: boolean): number {
  const { contextLength, slots } = options;
  const rows = Math.min(Math.max(defaultRowsMax, 2 * slots), contextLength * slots);
  const cells = Math.ceil(contextLength / cellsAtOnce) * cellsAtOnce;
  const hasKeys = facts.heads > 0 && facts.keyHeads.some((heads) => heads > 0);
  const masks = hasKeys ? (facts.hasWindow ? 2 : 1) : 0;
  const numbersPerCell = masks + (flash || !hasKeys ? 0 : facts.heads);
  const attention = cells * numbersPerCell + 6 * facts.embedding;
  const second = 3 * facts.inner + 3 * facts.embedding;
  const outputs = Math.min(rows, Math.max(keptRows, 2 * slots));
  const last = outputs * facts.vocabulary + 2 * rows * facts.embedding;
  const buffer = float32Bytes * Math.max(rows * attention, rows * (second + cells * masks), last);
  // Beside it, products are rounded to f16 before they meet the values, which are stored so.
  return buffer + (flash || !hasKeys ? 0 : 2 * rows * cells * facts.heads);
}

function formatOf(name: CacheType): TensorType {
  const type = tensorType(tensorTypeId(name) ?? -1);
  if (type === undefined) throw new RangeError(`the cache format ${name} is unknown`);
  return type;
}

function rowBytes(numbers: number, { blockLength, blockBytes }: TensorType): number {
  return Math.ceil(numbers / blockLength) * blockBytes;
}
