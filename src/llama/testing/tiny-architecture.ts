/**
 * Which metadata and tensors the tiny test models consist of, and how their weights are drawn.
 *
 * Channel 0 of the residual stream is kept constant: the embedding sets it and no layer writes to
 * it. The output matrix reads it, which gives every token a bias; so output is mostly readable
 * and ends now and then, although all else is random.
 */
import type { GgufValue } from "./gguf-file.ts";
import type { SeededValues } from "./tensor-data.ts";
import type { TinyGgufSettings } from "./tiny-gguf.ts";
import type { TinyVocabulary } from "./tiny-vocabulary.ts";

export interface Architecture {
  readonly name: string;
  readonly metadata: ReadonlyMap<string, GgufValue>;
  readonly tensors: readonly TensorPlan[];
}

export interface TensorPlan {
  readonly name: string;
  /** Row length first. */
  readonly shape: readonly number[];
  /** The value at a row and column; called row by row. */
  readonly value: (random: SeededValues, row: number, column: number) => number;
  readonly keepsFloat32?: boolean;
}

/**
 * Channel 0 of every embedding, where the others have standard deviation 1. How much of it is left
 * beside what the layers add differs by architecture.
 */
const CONSTANT = { llama: 4, gemma3: 1.5, mamba: 1.5 } as const;
/** Standard deviation of the logits before the bias: far from flat, far from certain. */
const LOGIT_SPREAD = 2.5;
/** Channel 0 after the last norm, roughly; turns a bias in logits into a weight. */
const CONSTANT_AFTER_NORM = 1.5;
const NORM_EPSILON = 1e-5;
const SLIDING_WINDOW = 32;

export function architectureOf(
  settings: TinyGgufSettings,
  vocabulary: TinyVocabulary,
): Architecture {
  switch (settings.variant) {
    case "plain":
    case "fim":
    case "bytes":
      return llama(settings, vocabulary);
    case "gemma3":
      return gemma3(settings, vocabulary);
    case "mamba":
      return mamba(settings, vocabulary);
  }
}

function llama(settings: TinyGgufSettings, vocabulary: TinyVocabulary): Architecture {
  const tensors = outerTensors(settings, vocabulary, CONSTANT.llama);
  for (let layer = 0; layer < settings.layers; layer++) tensors.push(...block(settings, layer));
  const metadata = attentionMetadata("llama", settings, vocabulary);
  return { name: "llama", metadata, tensors };
}

/** Every second layer sees the last 32 tokens only. */
function gemma3(settings: TinyGgufSettings, vocabulary: TinyVocabulary): Architecture {
  const { embedding } = settings;
  const head = headLength(settings);
  const tensors = outerTensors(settings, vocabulary, CONSTANT.gemma3);
  for (let layer = 0; layer < settings.layers; layer++) {
    const prefix = `blk.${layer}`;
    tensors.push(
      ...block(settings, layer),
      vector(`${prefix}.attn_q_norm.weight`, head, 1.5),
      vector(`${prefix}.attn_k_norm.weight`, head, 1.5),
      // Embeddings are scaled by the root of the width here; what layers add has to keep up.
      vectorSparingConstant(`${prefix}.post_attention_norm.weight`, embedding, 5),
      vectorSparingConstant(`${prefix}.post_ffw_norm.weight`, embedding, 5),
    );
  }
  const metadata = attentionMetadata("gemma3", settings, vocabulary);
  metadata.set("gemma3.attention.key_length", { kind: "uint32", value: head });
  metadata.set("gemma3.attention.value_length", { kind: "uint32", value: head });
  metadata.set("gemma3.attention.sliding_window", { kind: "uint32", value: SLIDING_WINDOW });
  metadata.set("gemma3.attention.sliding_window_pattern", { kind: "uint32", value: 2 });
  return { name: "gemma3", metadata, tensors };
}

const MAMBA_CONVOLUTION = 4;
const MAMBA_STATE = 16;
const MAMBA_TIME_RANK = 4;

function mamba(settings: TinyGgufSettings, vocabulary: TinyVocabulary): Architecture {
  const { embedding, layers } = settings;
  const inner = 2 * embedding;
  const tensors = outerTensors(settings, vocabulary, CONSTANT.mamba);
  for (let layer = 0; layer < layers; layer++) {
    const prefix = `blk.${layer}`;
    tensors.push(
      vector(`${prefix}.attn_norm.weight`, embedding, 1),
      matrix(`${prefix}.ssm_in.weight`, embedding, 2 * inner, 1),
      { ...matrix(`${prefix}.ssm_conv1d.weight`, MAMBA_CONVOLUTION, inner, 1), keepsFloat32: true },
      vector(`${prefix}.ssm_conv1d.bias`, inner, 0.1),
      matrix(`${prefix}.ssm_x.weight`, inner, MAMBA_TIME_RANK + 2 * MAMBA_STATE, 1),
      matrix(`${prefix}.ssm_dt.weight`, MAMBA_TIME_RANK, inner, 0.5),
      vector(`${prefix}.ssm_dt.bias`, inner, -1),
      {
        name: `${prefix}.ssm_a`,
        shape: [MAMBA_STATE, inner],
        // Decay rates, which have to be negative: the faster the higher the state.
        value: (_random, _row, column) => -(column + 1) / 4,
        keepsFloat32: true,
      },
      vector(`${prefix}.ssm_d`, inner, 1),
      matrixSparingConstant(`${prefix}.ssm_out.weight`, inner, embedding, 2),
    );
  }
  const number = (value: number): GgufValue => ({ kind: "uint32", value });
  const metadata = sharedMetadata("mamba", settings, vocabulary);
  metadata.set("mamba.feed_forward_length", number(0));
  metadata.set("mamba.attention.head_count", number(0));
  metadata.set("mamba.ssm.conv_kernel", number(MAMBA_CONVOLUTION));
  metadata.set("mamba.ssm.inner_size", number(inner));
  metadata.set("mamba.ssm.state_size", number(MAMBA_STATE));
  metadata.set("mamba.ssm.time_step_rank", number(MAMBA_TIME_RANK));
  return { name: "mamba", metadata, tensors };
}

function sharedMetadata(
  name: string,
  settings: TinyGgufSettings,
  vocabulary: TinyVocabulary,
): Map<string, GgufValue> {
  return new Map<string, GgufValue>([
    [`${name}.vocab_size`, { kind: "uint32", value: vocabulary.tokens.length }],
    [`${name}.context_length`, { kind: "uint32", value: settings.contextLength }],
    [`${name}.embedding_length`, { kind: "uint32", value: settings.embedding }],
    [`${name}.block_count`, { kind: "uint32", value: settings.layers }],
    [`${name}.attention.layer_norm_rms_epsilon`, { kind: "float32", value: NORM_EPSILON }],
  ]);
}

function attentionMetadata(
  name: string,
  settings: TinyGgufSettings,
  vocabulary: TinyVocabulary,
): Map<string, GgufValue> {
  const metadata = sharedMetadata(name, settings, vocabulary);
  const head = headLength(settings);
  const number = (value: number): GgufValue => ({ kind: "uint32", value });
  metadata.set(`${name}.feed_forward_length`, number(2 * settings.embedding));
  metadata.set(`${name}.attention.head_count`, number(settings.heads));
  metadata.set(`${name}.attention.head_count_kv`, number(keyHeads(settings)));
  metadata.set(`${name}.rope.dimension_count`, number(head));
  metadata.set(`${name}.rope.freq_base`, { kind: "float32", value: 10000 });
  return metadata;
}

function headLength({ embedding, heads }: TinyGgufSettings): number {
  return embedding / heads;
}

/** Two query heads share a key head where the number of heads allows it. */
function keyHeads({ heads }: TinyGgufSettings): number {
  return heads % 2 === 0 ? heads / 2 : heads;
}

/** Embedding, last norm and output. */
function outerTensors(
  settings: TinyGgufSettings,
  vocabulary: TinyVocabulary,
  constant: number,
): TensorPlan[] {
  const { embedding } = settings;
  const size = vocabulary.tokens.length;
  const spread = LOGIT_SPREAD / Math.sqrt(embedding);
  return [
    {
      name: "token_embd.weight",
      shape: [embedding, size],
      value: (random, _row, column) => (column === 0 ? constant : random.bell()),
    },
    vector("output_norm.weight", embedding, 1),
    {
      name: "output.weight",
      shape: [embedding, size],
      value: (random, row, column) => {
        if (column > 0) return random.bell() * spread;
        return (vocabulary.tokens[row]?.bias ?? 0) / CONSTANT_AFTER_NORM;
      },
    },
  ];
}

/** The part of a layer that llama and gemma3 share. */
function block(settings: TinyGgufSettings, layer: number): TensorPlan[] {
  const { embedding } = settings;
  const keyWidth = keyHeads(settings) * headLength(settings);
  const inner = 2 * embedding;
  const prefix = `blk.${layer}`;
  return [
    vector(`${prefix}.attn_norm.weight`, embedding, 1),
    matrix(`${prefix}.attn_q.weight`, embedding, embedding, 2.5),
    matrix(`${prefix}.attn_k.weight`, embedding, keyWidth, 2.5),
    matrix(`${prefix}.attn_v.weight`, embedding, keyWidth, 1.5),
    matrixSparingConstant(`${prefix}.attn_output.weight`, embedding, embedding, 3),
    vector(`${prefix}.ffn_norm.weight`, embedding, 1),
    matrix(`${prefix}.ffn_gate.weight`, embedding, inner, 1.5),
    matrix(`${prefix}.ffn_up.weight`, embedding, inner, 1.5),
    matrixSparingConstant(`${prefix}.ffn_down.weight`, inner, embedding, 1),
  ];
}

function vector(name: string, length: number, value: number): TensorPlan {
  return { name, shape: [length], value: () => value };
}

function vectorSparingConstant(name: string, length: number, value: number): TensorPlan {
  return { name, shape: [length], value: (_random, _row, column) => (column === 0 ? 0 : value) };
}

/** Inputs of spread 1 give outputs of spread `gain`. */
function matrix(name: string, inputs: number, outputs: number, gain: number): TensorPlan {
  const spread = gain / Math.sqrt(inputs);
  return { name, shape: [inputs, outputs], value: (random) => random.bell() * spread };
}

/** A matrix that adds to the residual stream: its row 0 is zero. */
function matrixSparingConstant(
  name: string,
  inputs: number,
  outputs: number,
  gain: number,
): TensorPlan {
  const plan = matrix(name, inputs, outputs, gain);
  return {
    ...plan,
    value: (random, row, column) => {
      const value = plan.value(random, row, column);
      return row === 0 ? 0 : value;
    },
  };
}
