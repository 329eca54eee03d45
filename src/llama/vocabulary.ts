/** Reads the vocabulary of a loaded model into a table that needs the library no more. */
import type { InfillTokens } from "../engine/engine.ts";
import { tokenFlag, type VocabularyData } from "../engine/vocabulary-table.ts";
import type { LlamaFunctions } from "./bindings.ts";
import { findInfillTokens } from "./infill-tokens.ts";
import type { Model } from "./model.ts";

/** Bits of the library's token attributes. */
const attribute = { unknown: 1, control: 8, userDefined: 16 } as const;
/** No token of a real vocabulary comes near. */
const tokenBytesMax = 64 * 1024;

/** Throws when the model has no tokens, or one of absurd length. */
export function readVocabulary(model: Model): VocabularyData {
  const { functions, vocabulary } = model;
  const size = functions.llama_vocab_n_tokens(vocabulary);
  if (size < 1) throw new Error("The model has no vocabulary.");
  const { bytes, offsets } = readBytes(model, size);
  const flags = new Uint8Array(size);
  /** Tokens that may be markers, by name: user-defined ones are text, but can be markers, too. */
  const named = new Map<string, number>();
  const decoder = new TextDecoder();
  for (let token = 0; token < size; token += 1) {
    const attributes = functions.llama_vocab_get_attr(vocabulary, token);
    const special = (attributes & (attribute.control | attribute.unknown)) !== 0;
    const ends = functions.llama_vocab_is_eog(vocabulary, token);
    flags[token] = (special ? tokenFlag.special : 0) | (ends ? tokenFlag.endOfGeneration : 0);
    if (special || (attributes & attribute.userDefined) !== 0) {
      const name = decoder.decode(bytes.subarray(offsets[token], offsets[token + 1]));
      if (!named.has(name)) named.set(name, token);
    }
  }
  const token = (id: number): number | undefined => (id >= 0 && id < size ? id : undefined);
  const bos = token(functions.llama_vocab_bos(vocabulary));
  const eos = token(functions.llama_vocab_eos(vocabulary));
  return {
    bytes,
    offsets,
    flags,
    bos,
    eos,
    pad: token(functions.llama_vocab_pad(vocabulary)),
    addsBos: functions.llama_vocab_get_add_bos(vocabulary) && bos !== undefined,
    documentStart: named.get("<|endoftext|>") ?? bos ?? eos ?? 0,
    infill: declaredInfill(model, token) ?? findInfillTokens((name) => named.get(name)),
    chatTemplate: model.chatTemplate,
  };
}

function declaredInfill(
  model: Model,
  token: (id: number) => number | undefined,
): InfillTokens | undefined {
  const { functions, vocabulary } = model;
  const prefix = token(functions.llama_vocab_fim_pre(vocabulary));
  const suffix = token(functions.llama_vocab_fim_suf(vocabulary));
  const middle = token(functions.llama_vocab_fim_mid(vocabulary));
  if (prefix === undefined || suffix === undefined || middle === undefined) return undefined;
  return { prefix, suffix, middle };
}

/** The bytes of all tokens; tokens the library has no text for (unused ones) have none. */
function readBytes(model: Model, size: number): { bytes: Uint8Array; offsets: Uint32Array } {
  const offsets = new Uint32Array(size + 1);
  let piece = new Uint8Array(256);
  let bytes = new Uint8Array(size * 8);
  let end = 0;
  for (let token = 0; token < size; token += 1) {
    let length = pieceOf(model.functions, model, token, piece);
    if (length < 0 && -length <= tokenBytesMax) {
      piece = new Uint8Array(-length);
      length = pieceOf(model.functions, model, token, piece);
    }
    if (length < 0) throw new Error(`Token ${token} of the model has ${-length} bytes.`);
    if (end + length > bytes.length) bytes = grown(bytes, end + length);
    bytes.set(piece.subarray(0, length), end);
    end += length;
    offsets[token + 1] = end;
  }
  return { bytes: bytes.slice(0, end), offsets };
}

function pieceOf(
  functions: LlamaFunctions,
  model: Model,
  token: number,
  piece: Uint8Array,
): number {
  return functions.llama_token_to_piece(model.vocabulary, token, piece, piece.length, 0, true);
}

function grown(bytes: Uint8Array, needed: number): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(Math.max(needed, bytes.length * 2));
  larger.set(bytes);
  return larger;
}
