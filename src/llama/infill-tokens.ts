/** Finds fill-in-the-middle markers by name, for vocabularies that do not declare them. */
import type { InfillTokens } from "../engine/engine.ts";

/** Marker names by model family: prefix, suffix, middle. */
const families: readonly (readonly [prefix: string, suffix: string, middle: string])[] = [
  // Qwen, CodeGemma, Codestral's open successors
  ["<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"],
  // StarCoder, Granite
  ["<fim_prefix>", "<fim_suffix>", "<fim_middle>"],
  ["<fim-prefix>", "<fim-suffix>", "<fim-middle>"],
  // DeepSeek: begin, hole, end; text after the hole is the suffix, the end asks for the middle
  ["<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>"],
  // CodeLlama, with and without SentencePiece's space mark
  ["▁<PRE>", "▁<SUF>", "▁<MID>"],
  ["<PRE>", "<SUF>", "<MID>"],
  // Codestral
  ["[PREFIX]", "[SUFFIX]", "[MIDDLE]"],
];

/** The first family whose three markers all exist; `tokenNamed` knows tokens by name. */
export function findInfillTokens(
  tokenNamed: (name: string) => number | undefined,
): InfillTokens | undefined {
  for (const [prefixName, suffixName, middleName] of families) {
    const prefix = tokenNamed(prefixName);
    const suffix = tokenNamed(suffixName);
    const middle = tokenNamed(middleName);
    if (prefix !== undefined && suffix !== undefined && middle !== undefined) {
      return { prefix, suffix, middle };
    }
  }
  return undefined;
}
