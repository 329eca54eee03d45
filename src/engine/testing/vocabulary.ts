/**
 * A vocabulary for tests: every byte is the token of its own value, then come longer tokens, then
 * special ones.
 */
import type { InfillTokens, Vocabulary } from "../engine.ts";

export interface TestVocabularyOptions {
  /** Tokens of more than one byte, as text or bytes; ids from 256 on. */
  readonly tokens?: readonly (string | Uint8Array)[];
  /** Names of special tokens, behind the others. Default: BOS `<s>` and EOS `</s>`. */
  readonly special?: readonly string[];
  /** Which of the special names are BOS, EOS and further ends. */
  readonly bos?: string | undefined;
  readonly eos?: string | undefined;
  readonly endOfGeneration?: readonly string[];
  readonly addsBos?: boolean;
  readonly infill?: { readonly [Part in keyof InfillTokens]: string };
  readonly chatTemplate?: string;
}

export interface TestVocabulary extends Vocabulary {
  /** The token of this text or name; throws when there is none. */
  readonly id: (text: string) => number;
  /** Longest tokens first; special names are read only on request. */
  readonly encode: (text: string, parseSpecial?: boolean) => number[];
}

const encoder = new TextEncoder();

/** Byte tokens 0..255, the given tokens, then `<s>` (BOS) and `</s>` (EOS) unless told otherwise. */
export function testVocabulary(options: TestVocabularyOptions = {}): TestVocabulary {
  const { tokens = [], special = ["<s>", "</s>"], bos = "<s>", eos = "</s>" } = options;
  const pieces = [
    ...Array.from({ length: 256 }, (_, byte) => Uint8Array.of(byte)),
    ...tokens.map((token) => (typeof token === "string" ? encoder.encode(token) : token)),
    ...special.map((name) => encoder.encode(name)),
  ];
  const specialStart = 256 + tokens.length;
  const specialIds = new Map(special.map((name, place) => [name, specialStart + place]));
  const optional = (name: string | undefined) =>
    name === undefined ? undefined : specialIds.get(name);
  const ends = new Set([optional(eos), ...(options.endOfGeneration ?? []).map(optional)]);
  const { bytesToId, longest } = indexPieces(pieces.slice(0, specialStart));
  const id = (text: string): number => {
    const found = specialIds.get(text) ?? bytesToId.get(keyOf(encoder.encode(text)));
    if (found === undefined) throw new Error(`No token ${JSON.stringify(text)}.`);
    return found;
  };
  const encodeOrdinary = (text: string): number[] => {
    const bytes = encoder.encode(text);
    const ids: number[] = [];
    for (let start = 0; start < bytes.length; ) {
      let length = Math.min(longest, bytes.length - start);
      while (!bytesToId.has(keyOf(bytes.subarray(start, start + length)))) length -= 1;
      ids.push(bytesToId.get(keyOf(bytes.subarray(start, start + length))) ?? 0);
      start += length;
    }
    return ids;
  };
  const encode = (text: string, parseSpecial = false): number[] => {
    if (!parseSpecial) return encodeOrdinary(text);
    return splitSpecial(text, special).flatMap((part) => {
      const token = specialIds.get(part);
      return token === undefined ? encodeOrdinary(part) : [token];
    });
  };
  return {
    size: pieces.length,
    bytes: (token) => pieces[token] ?? new Uint8Array(0),
    isSpecial: (token) => token >= specialStart && token < pieces.length,
    isEndOfGeneration: (token) => ends.has(token),
    bos: optional(bos),
    eos: optional(eos),
    pad: undefined,
    addsBos: options.addsBos ?? false,
    documentStart: optional("<|endoftext|>") ?? optional(bos) ?? optional(eos) ?? 0,
    infill: options.infill && {
      prefix: id(options.infill.prefix),
      suffix: id(options.infill.suffix),
      middle: id(options.infill.middle),
    },
    chatTemplate: options.chatTemplate,
    specialToken: (text) => specialIds.get(text),
    id,
    encode,
  };
}

function indexPieces(pieces: readonly Uint8Array[]): {
  bytesToId: Map<string, number>;
  longest: number;
} {
  const bytesToId = new Map<string, number>();
  for (const [token, bytes] of pieces.entries()) {
    if (!bytesToId.has(keyOf(bytes))) bytesToId.set(keyOf(bytes), token);
  }
  return { bytesToId, longest: Math.max(...pieces.map((bytes) => bytes.length)) };
}

function keyOf(bytes: Uint8Array): string {
  return bytes.join();
}

/** Cuts a text at special names, which stay as parts of their own. */
function splitSpecial(text: string, names: readonly string[]): string[] {
  let parts = [text];
  for (const name of names) {
    parts = parts.flatMap((part) =>
      names.includes(part)
        ? [part]
        : part.split(name).flatMap((piece, place) => (place === 0 ? [piece] : [name, piece])),
    );
  }
  return parts.filter((part) => part !== "");
}
