/**
 * Writes tiny random-weight models for tests: real architectures that libllama loads, in a
 * fraction of a second, without a download. The same options give the same bytes.
 */
import { createHash, randomUUID } from "node:crypto";
import { existsSync, mkdirSync, renameSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { encodeGguf, type GgufFile, type GgufTensor, type GgufValue } from "./gguf-file.ts";
import {
  encodeTensor,
  Q8_0_BLOCK_VALUES,
  SeededValues,
  TENSOR_TYPE_ID,
  type TensorType,
} from "./tensor-data.ts";
import { architectureOf, type TensorPlan } from "./tiny-architecture.ts";
import { byteLevelVocabulary, pieceVocabulary, type TinyVocabulary } from "./tiny-vocabulary.ts";

/**
 * plain: llama with a byte-level vocabulary. fim: the same with infill markers. bytes: llama with
 * pieces, byte tokens and a BOS in front. gemma3: sliding window. mamba: recurrent.
 */
export const TINY_VARIANTS = ["plain", "fim", "bytes", "gemma3", "mamba"] as const;
export type TinyVariant = (typeof TINY_VARIANTS)[number];

export interface TinyGgufOptions {
  /** Default `plain`. */
  readonly variant?: TinyVariant;
  /** Chooses the weights; default 1. */
  readonly seed?: number;
  /** Default 2. */
  readonly layers?: number;
  /** Width of the model, a multiple of 32 and of twice the heads; default 64. */
  readonly embedding?: number;
  /** Attention heads; default 2. */
  readonly heads?: number;
  /** Tokens the model says it was trained on; default 512. */
  readonly contextLength?: number;
  /** Type of the matrices; vectors stay F32. Default f32. */
  readonly tensorType?: TensorType;
}

export type TinyGgufSettings = Required<TinyGgufOptions>;

const DEFAULTS: TinyGgufSettings = {
  variant: "plain",
  seed: 1,
  layers: 2,
  embedding: 64,
  heads: 2,
  contextLength: 512,
  tensorType: "f32",
};

/** The bytes of a model file. Throws a RangeError that says which option does not fit. */
export function tinyGguf(options: TinyGgufOptions = {}): Uint8Array {
  return encodeGguf(tinyGgufContent(options));
}

/** What the file holds, before it is laid out. */
export function tinyGgufContent(options: TinyGgufOptions = {}): GgufFile {
  const settings = { ...DEFAULTS, ...options };
  checkSettings(settings);
  const vocabulary = vocabularyOf(settings.variant);
  const architecture = architectureOf(settings, vocabulary);
  const metadata = new Map<string, GgufValue>([
    ["general.architecture", { kind: "string", value: architecture.name }],
    ["general.name", { kind: "string", value: `tiny ${settings.variant}` }],
    ...architecture.metadata,
    ...vocabulary.metadata,
  ]);
  const tensors = architecture.tensors.map((plan) => makeTensor(plan, settings));
  return { metadata, tensors };
}

/**
 * The path of a model file with these options in the machine's temporary folder, written unless it
 * is there. The name holds a hash of the content, so a changed writer never meets an old file, and
 * test processes that run at once may share it.
 */
export function tinyGgufFile(options: TinyGgufOptions = {}): string {
  const bytes = tinyGguf(options);
  const hash = createHash("sha256").update(bytes).digest("hex").slice(0, 16);
  const folder = join(tmpdir(), "completionist-tiny-models");
  const path = join(folder, `tiny-${options.variant ?? DEFAULTS.variant}-${hash}.gguf`);
  if (existsSync(path)) return path;
  mkdirSync(folder, { recursive: true });
  const unfinished = `${path}.${randomUUID()}.part`;
  writeFileSync(unfinished, bytes);
  renameSync(unfinished, path);
  return path;
}

function vocabularyOf(variant: TinyVariant): TinyVocabulary {
  switch (variant) {
    case "plain":
    case "mamba":
      return byteLevelVocabulary({ infill: false });
    case "fim":
      return byteLevelVocabulary({ infill: true });
    case "bytes":
      return pieceVocabulary({
        controls: ["<unk>", "<s>", "</s>"],
        unknown: "<unk>",
        bos: "<s>",
        eos: "</s>",
        spaceInFront: true,
      });
    case "gemma3":
      return pieceVocabulary({
        controls: ["<pad>", "<eos>", "<bos>", "<unk>", "<start_of_turn>", "<end_of_turn>"],
        unknown: "<unk>",
        bos: "<bos>",
        eos: "<eos>",
        spaceInFront: false,
      });
  }
}

function checkSettings(settings: TinyGgufSettings): void {
  const { variant, embedding, heads, tensorType } = settings;
  if (!TINY_VARIANTS.includes(variant)) {
    throw new RangeError(`variant must be one of ${TINY_VARIANTS.join(", ")}, not ${variant}`);
  }
  if (!Object.hasOwn(TENSOR_TYPE_ID, tensorType)) {
    const types = Object.keys(TENSOR_TYPE_ID).join(", ");
    throw new RangeError(`tensor type must be one of ${types}, not ${tensorType}`);
  }
  for (const name of ["layers", "embedding", "heads", "contextLength"] as const) {
    if (!Number.isSafeInteger(settings[name]) || settings[name] < 1) {
      throw new RangeError(`${name} must be a whole number of at least 1, not ${settings[name]}`);
    }
  }
  if (!Number.isSafeInteger(settings.seed)) {
    throw new RangeError(`seed must be a whole number, not ${settings.seed}`);
  }
  // Rotary positions turn pairs, so a head is an even number of values.
  if (embedding % Q8_0_BLOCK_VALUES !== 0 || embedding % (2 * heads) !== 0) {
    throw new RangeError(`embedding must be a multiple of 32 and of 2 x heads, not ${embedding}`);
  }
}

/** Rows shorter than a block cannot be Q8_0; ggml wants vectors and some tensors in F32. */
function makeTensor(plan: TensorPlan, settings: TinyGgufSettings): GgufTensor {
  const rowLength = plan.shape[0] ?? 0;
  const isMatrix = plan.shape.length > 1 && !plan.keepsFloat32;
  const fits = settings.tensorType !== "q8_0" || rowLength % Q8_0_BLOCK_VALUES === 0;
  const type = isMatrix && fits ? settings.tensorType : "f32";
  const values = new Float32Array(plan.shape.reduce((product, size) => product * size, 1));
  const random = new SeededValues(settings.seed, plan.name);
  for (let index = 0; index < values.length; index++) {
    const column = index % rowLength;
    values[index] = plan.value(random, Math.floor(index / rowLength), column);
  }
  return {
    name: plan.name,
    shape: plan.shape,
    typeId: TENSOR_TYPE_ID[type],
    data: encodeTensor(values, type),
  };
}
