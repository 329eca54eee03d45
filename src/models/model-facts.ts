/** What the header of a model file says, in the words that users know. */
import { type GgufHeader, readGgufHeader } from "../llama/gguf-header.ts";
import { findInfillTokens } from "../llama/infill-tokens.ts";
import { hasFloatWeights, ownTypeName, totalBytes, totalParameters } from "./optimize-types.ts";

export interface SpecialToken {
  readonly id: number;
  readonly text: string;
}

export interface ModelFileFacts {
  readonly paths: readonly string[];
  readonly name: string | undefined;
  readonly architecture: string;
  readonly type: string;
  readonly parameters: number;
  readonly bytes: number;
  readonly trainedContext: number | undefined;
  readonly vocabulary: number | undefined;
  readonly layers: number | undefined;
  /** By type name, largest first. */
  readonly weights: readonly {
    readonly type: string;
    readonly tensors: number;
    readonly bytes: number;
  }[];
  /** `bos`, `eos` and others, as far as the header names them. */
  readonly specialTokens: ReadonlyMap<string, SpecialToken>;
  readonly addsBos: boolean | undefined;
  /** Tokens that mark prefix, suffix and middle; undefined: not all three are named. */
  readonly infill: ReadonlyMap<string, SpecialToken> | undefined;
  readonly chatTemplate: boolean;
  /** Positions that sliding attention sees; undefined: all. */
  readonly slidingWindow: number | undefined;
  readonly recurrent: boolean;
  readonly floatWeights: boolean;
}

const tokensKey = "tokenizer.ggml.tokens";
const infillNames = ["prefix", "suffix", "middle"] as const;
/** Names of each marker in headers; without them the tokens are known by their texts. */
const infillKeys: Readonly<Record<(typeof infillNames)[number], readonly string[]>> = {
  prefix: ["fim_pre_token_id", "prefix_token_id"],
  suffix: ["fim_suf_token_id", "suffix_token_id"],
  middle: ["fim_mid_token_id", "middle_token_id"],
};
const specialNames = ["bos", "eos", "eot", "unknown", "padding"] as const;

/** Throws a ModelFileError. */
export function readModelFacts(path: string): { facts: ModelFileFacts; header: GgufHeader } {
  const header = readGgufHeader(path, { lists: [tokensKey] });
  const { architecture, metadata, lengths } = header;
  const number = (key: string): number | undefined => {
    const value = metadata.get(`${architecture}.${key}`);
    return typeof value === "number" ? value : undefined;
  };
  const addsBos = metadata.get("tokenizer.ggml.add_bos_token");
  const facts: ModelFileFacts = {
    paths: header.paths,
    name: header.name,
    architecture,
    type: ownTypeName(header),
    parameters: totalParameters(header),
    bytes: totalBytes(header),
    trainedContext: number("context_length"),
    vocabulary: lengths.get(tokensKey) ?? number("vocab_size"),
    layers: number("block_count"),
    weights: [...header.weights]
      .map(([type, { tensors, bytes }]) => ({ type, tensors, bytes }))
      .toSorted((left, right) => right.bytes - left.bytes),
    specialTokens: namedTokens(header, specialNames, (name) => [`${name}_token_id`]),
    addsBos: typeof addsBos === "boolean" ? addsBos : undefined,
    infill: infillOf(header),
    chatTemplate: typeof metadata.get("tokenizer.chat_template") === "string",
    slidingWindow: number("attention.sliding_window"),
    recurrent: number("ssm.state_size") !== undefined || number("wkv.head_size") !== undefined,
    floatWeights: hasFloatWeights(header),
  };
  return { facts, header };
}

function namedTokens<Name extends string>(
  { metadata, lists }: GgufHeader,
  names: readonly Name[],
  keysOf: (name: Name) => readonly string[],
): ReadonlyMap<Name, SpecialToken> {
  const found = new Map<Name, SpecialToken>();
  for (const name of names) {
    for (const key of keysOf(name)) {
      const id = metadata.get(`tokenizer.ggml.${key}`);
      if (typeof id !== "number" || found.has(name)) continue;
      found.set(name, { id, text: lists.get(tokensKey)?.[id] ?? "" });
    }
  }
  return found;
}

function infillOf(header: GgufHeader): ReadonlyMap<string, SpecialToken> | undefined {
  const declared = namedTokens(header, infillNames, (name) => infillKeys[name]);
  if (declared.size === infillNames.length) return declared;
  const tokens = header.lists.get(tokensKey) ?? [];
  const ids = new Map(tokens.map((text, id) => [text, id]));
  const found = findInfillTokens((name) => ids.get(name));
  if (found === undefined) return undefined;
  return new Map(
    infillNames.map((name) => [name, { id: found[name], text: tokens[found[name]] ?? "" }]),
  );
}
