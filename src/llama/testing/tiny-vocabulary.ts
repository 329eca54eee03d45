/**
 * Vocabularies of the tiny test models: a byte-level one as GPT-2 and SmolLM have, and one of
 * pieces with scores and byte tokens as Llama 2 and Gemma have.
 */
import type { GgufValue } from "./gguf-file.ts";
import { learnMerges } from "./piece-training.ts";
import { corpusWords } from "./tiny-corpus.ts";

export interface TinyVocabulary {
  readonly tokens: readonly TinyToken[];
  /** All `tokenizer.*` metadata. */
  readonly metadata: ReadonlyMap<string, GgufValue>;
}

export interface TinyToken {
  /** As the file stores it: byte symbols, or pieces with U+2581 for a space. */
  readonly text: string;
  readonly type: TokenType;
  readonly score: number;
  /** How much likelier than others, in logits: keeps output readable and lets it end. */
  readonly bias: number;
}

type TokenType = keyof typeof TOKEN_TYPE_ID;

const TOKEN_TYPE_ID = {
  normal: 1,
  unknown: 2,
  control: 3,
  userDefined: 4,
  byte: 6,
} as const;

const MERGES = 320;
const PIECE_BIAS = 2;
const LONE_BYTE_BIAS = -3;
const END_BIAS = 5;
const CONTROL_BIAS = -3;
const USER_DEFINED_TOKEN = "<note>";
const SPACE_PIECE = "\u2581";

/** Byte-level BPE. No token stands in front by itself; `<|endoftext|>` opens and ends documents. */
export function byteLevelVocabulary(options: { readonly infill: boolean }): TinyVocabulary {
  const words = corpusWords().map((word) => [...Buffer.from(word)].map(byteSymbol));
  const merges = learnMerges(words, MERGES);
  const tokens: TinyToken[] = [
    { text: "<|endoftext|>", type: "control", score: 0, bias: END_BIAS },
    { text: "<|im_start|>", type: "control", score: 0, bias: CONTROL_BIAS },
    { text: "<|im_end|>", type: "control", score: 0, bias: CONTROL_BIAS },
    { text: USER_DEFINED_TOKEN, type: "userDefined", score: 0, bias: 0 },
  ];
  for (let byte = 0; byte < 256; byte++) {
    tokens.push({ text: byteSymbol(byte), type: "normal", score: 0, bias: byteBias(byte) });
  }
  for (const [left, right] of merges) {
    tokens.push({ text: left + right, type: "normal", score: 0, bias: PIECE_BIAS });
  }
  const metadata = new Map<string, GgufValue>([
    ["tokenizer.ggml.model", { kind: "string", value: "gpt2" }],
    ["tokenizer.ggml.pre", { kind: "string", value: "smollm" }],
    [
      "tokenizer.ggml.merges",
      { kind: "strings", values: merges.map(([left, right]) => `${left} ${right}`) },
    ],
    ["tokenizer.ggml.bos_token_id", { kind: "uint32", value: 0 }],
    ["tokenizer.ggml.eos_token_id", { kind: "uint32", value: 0 }],
    ["tokenizer.ggml.add_bos_token", { kind: "bool", value: false }],
    ["tokenizer.chat_template", { kind: "string", value: CHAT_TEMPLATE }],
  ]);
  if (options.infill) {
    for (const [name, key] of INFILL_TOKENS) {
      metadata.set(key, { kind: "uint32", value: tokens.length });
      tokens.push({ text: name, type: "control", score: 0, bias: CONTROL_BIAS });
    }
  }
  return withTokenLists(tokens, metadata);
}

const INFILL_TOKENS = [
  ["<fim_prefix>", "tokenizer.ggml.fim_pre_token_id"],
  ["<fim_suffix>", "tokenizer.ggml.fim_suf_token_id"],
  ["<fim_middle>", "tokenizer.ggml.fim_mid_token_id"],
] as const;

const CHAT_TEMPLATE =
  "{% for message in messages %}<|im_start|>{{ message['role'] }}\n" +
  "{{ message['content'] }}<|im_end|>\n{% endfor %}" +
  "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";

/** The special tokens of a vocabulary of pieces, in the order of their ids. */
export interface PieceVocabularyOptions {
  readonly controls: readonly string[];
  readonly unknown: string;
  readonly bos: string;
  readonly eos: string;
  /** Whether text gets a space in front of it before it is cut into pieces. */
  readonly spaceInFront: boolean;
}

/** Pieces with scores; bytes that no piece covers are `<0xNN>` tokens. BOS stands in front. */
export function pieceVocabulary(options: PieceVocabularyOptions): TinyVocabulary {
  const words = corpusWords().map((word) => [...word.replaceAll(" ", SPACE_PIECE)]);
  // Lone characters beyond these have no piece and become byte tokens.
  const characters = words
    .flat()
    .filter((character) => /^[ -~\u2581äöüé的中文水]$/u.test(character));
  const merges = learnMerges(
    words.filter((word) => word.every((character) => characters.includes(character))),
    MERGES,
  );
  const tokens: TinyToken[] = options.controls.map((text) => ({
    text,
    type: text === options.unknown ? "unknown" : "control",
    score: 0,
    bias: text === options.eos ? END_BIAS : CONTROL_BIAS,
  }));
  for (let byte = 0; byte < 256; byte++) {
    const text = `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`;
    tokens.push({ text, type: "byte", score: 0, bias: LONE_BYTE_BIAS });
  }
  tokens.push({ text: USER_DEFINED_TOKEN, type: "userDefined", score: 0, bias: 0 });
  // A higher score is joined earlier; lone characters come last.
  merges.forEach(([left, right], rank) => {
    tokens.push({ text: left + right, type: "normal", score: -rank, bias: PIECE_BIAS });
  });
  for (const text of [...new Set(characters)].sort()) {
    tokens.push({ text, type: "normal", score: -MERGES - 1, bias: 0 });
  }
  const metadata = new Map<string, GgufValue>([
    ["tokenizer.ggml.model", { kind: "string", value: "llama" }],
    ["tokenizer.ggml.pre", { kind: "string", value: "default" }],
    ["tokenizer.ggml.scores", { kind: "float32s", values: tokens.map(({ score }) => score) }],
    ["tokenizer.ggml.unknown_token_id", idOf(tokens, options.unknown)],
    ["tokenizer.ggml.bos_token_id", idOf(tokens, options.bos)],
    ["tokenizer.ggml.eos_token_id", idOf(tokens, options.eos)],
    ["tokenizer.ggml.add_bos_token", { kind: "bool", value: true }],
    ["tokenizer.ggml.add_eos_token", { kind: "bool", value: false }],
    ["tokenizer.ggml.add_space_prefix", { kind: "bool", value: options.spaceInFront }],
  ]);
  return withTokenLists(tokens, metadata);
}

function idOf(tokens: readonly TinyToken[], text: string): GgufValue {
  const value = tokens.findIndex((token) => token.text === text);
  if (value < 0) throw new RangeError(`the vocabulary has no token ${text}`);
  return { kind: "uint32", value };
}

function withTokenLists(
  tokens: readonly TinyToken[],
  metadata: Map<string, GgufValue>,
): TinyVocabulary {
  metadata.set("tokenizer.ggml.tokens", {
    kind: "strings",
    values: tokens.map(({ text }) => text),
  });
  metadata.set("tokenizer.ggml.token_type", {
    kind: "int32s",
    values: tokens.map(({ type }) => TOKEN_TYPE_ID[type]),
  });
  return { tokens, metadata };
}

/** Letters, digits and white space are plain text; other lone bytes are rare in output. */
function byteBias(byte: number): number {
  const isPrintable = byte >= 0x20 && byte < 0x7f;
  return isPrintable || byte === 0x0a ? 0 : LONE_BYTE_BIAS;
}

/**
 * The character that stands for a byte in a byte-level vocabulary: itself where that is visible in
 * Latin-1, else the next free character from U+0100 on.
 */
export function byteSymbol(byte: number): string {
  return BYTE_SYMBOLS[byte] ?? "";
}

const BYTE_SYMBOLS: readonly string[] = byteSymbols();

function byteSymbols(): string[] {
  let nextFree = 0x100;
  return Array.from({ length: 256 }, (_, byte) => {
    const isVisible = (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte !== 0xad);
    return String.fromCodePoint(isVisible ? byte : nextFree++);
  });
}
