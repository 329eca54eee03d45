/**
 * A vocabulary as plain data, so that it can be sent to another process once (structured clone),
 * and the class that answers from it.
 */
import type { InfillTokens, Vocabulary } from "./engine.ts";

type SharedMembers =
  | "bos"
  | "eos"
  | "pad"
  | "addsBos"
  | "documentStart"
  | "infill"
  | "chatTemplate";

export interface VocabularyData extends Pick<Vocabulary, SharedMembers> {
  /** The bytes of all tokens, one after the other. */
  readonly bytes: Uint8Array;
  /** Token `t` has the bytes from `offsets[t]` to `offsets[t + 1]`: one entry more than tokens. */
  readonly offsets: Uint32Array;
  /** One byte of `tokenFlag` bits for each token. */
  readonly flags: Uint8Array;
}

export const tokenFlag = { special: 1, endOfGeneration: 2 } as const;

/** Throws a RangeError for tokens outside of the vocabulary. */
export class TableVocabulary implements Vocabulary {
  readonly data: VocabularyData;
  readonly size: number;
  readonly bos: number | undefined;
  readonly eos: number | undefined;
  readonly pad: number | undefined;
  readonly addsBos: boolean;
  readonly documentStart: number;
  readonly infill: InfillTokens | undefined;
  readonly chatTemplate: string | undefined;
  readonly #specialTokens: ReadonlyMap<string, number>;

  constructor(data: VocabularyData) {
    this.data = data;
    this.size = data.flags.length;
    this.bos = data.bos;
    this.eos = data.eos;
    this.pad = data.pad;
    this.addsBos = data.addsBos;
    this.documentStart = data.documentStart;
    this.infill = data.infill;
    this.chatTemplate = data.chatTemplate;
    this.#specialTokens = nameSpecialTokens(data);
  }

  /** A view of the table: not to be changed. */
  bytes(token: number): Uint8Array {
    const start = this.data.offsets[token];
    const end = this.data.offsets[token + 1];
    if (start === undefined || end === undefined) throw new RangeError(`no token ${token}`);
    return this.data.bytes.subarray(start, end);
  }

  isSpecial(token: number): boolean {
    return (this.#flagsOf(token) & tokenFlag.special) !== 0;
  }

  isEndOfGeneration(token: number): boolean {
    return (this.#flagsOf(token) & tokenFlag.endOfGeneration) !== 0;
  }

  specialToken(text: string): number | undefined {
    return this.#specialTokens.get(text);
  }

  #flagsOf(token: number): number {
    const flags = this.data.flags[token];
    if (flags === undefined) throw new RangeError(`no token ${token}`);
    return flags;
  }
}

/** Where two special tokens share a name, the first one keeps it. */
function nameSpecialTokens(data: VocabularyData): ReadonlyMap<string, number> {
  const decoder = new TextDecoder();
  const names = new Map<string, number>();
  for (let token = 0; token < data.flags.length; token += 1) {
    if (((data.flags[token] ?? 0) & tokenFlag.special) === 0) continue;
    const name = decoder.decode(data.bytes.subarray(data.offsets[token], data.offsets[token + 1]));
    if (!names.has(name)) names.set(name, token);
  }
  return names;
}
