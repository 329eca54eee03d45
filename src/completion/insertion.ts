/**
 * Insertion: the completion goes between a prompt and a suffix. Models trained for it read both in
 * front of the completion, between markers; others draw candidates and choose (rerank.ts).
 */
import { ApiError } from "../contract/errors.ts";
import type { Engine, InfillTokens, Vocabulary } from "../engine/engine.ts";
import { decode, type PreparedPrompt } from "./prompt.ts";
import { tokenizeWithin } from "./tokenize-within.ts";

export type Insertion =
  /** FIM markers where the vocabulary has them, else reranking. */
  | { readonly kind: "auto" }
  | { readonly kind: "fim" }
  | { readonly kind: "rerank" }
  | { readonly kind: "off" }
  /** A prompt text with `{prefix}` and `{suffix}`. */
  | { readonly kind: "template"; readonly template: string };

/** What the engine reads instead of the prompt; undefined: the prompt itself, and rerank. */
export async function infillTokens(
  prompt: PreparedPrompt,
  suffix: string,
  model: { readonly engine: Engine; readonly insertion: Insertion },
  maxTokens: number,
): Promise<readonly number[] | undefined> {
  const { engine, insertion } = model;
  const { vocabulary } = engine.describe();
  const { infill } = vocabulary;
  if (insertion.kind === "off") throw new ApiError("suffixUnsupported");
  if (insertion.kind === "template")
    return fillTemplate(insertion.template, prompt, suffix, { engine, maxTokens });
  if (insertion.kind === "rerank") return undefined;
  if (infill === undefined) {
    if (insertion.kind === "fim") throw new ApiError("suffixUnsupported");
    return undefined;
  }
  const after = await tokenizeWithin(engine, suffix, {
    addSpecial: false,
    parseSpecial: true,
    maxTokens,
  });
  const before = prompt.tokens.slice(prompt.hiddenTokens);
  return [...leadingBos(vocabulary), ...arrange(before, after, infill, vocabulary)];
}

function leadingBos(vocabulary: Vocabulary): number[] {
  return vocabulary.addsBos && vocabulary.bos !== undefined ? [vocabulary.bos] : [];
}

/** Prefix, suffix, middle; Codestral was trained with the suffix first and no middle marker. */
function arrange(
  before: readonly number[],
  after: readonly number[],
  infill: InfillTokens,
  vocabulary: Vocabulary,
): number[] {
  if (decode([infill.prefix], vocabulary) === "[PREFIX]") {
    return [infill.suffix, ...after, infill.prefix, ...before];
  }
  return [infill.prefix, ...before, infill.suffix, ...after, infill.middle];
}

function fillTemplate(
  template: string,
  prompt: PreparedPrompt,
  suffix: string,
  { engine, maxTokens }: { readonly engine: Engine; readonly maxTokens: number },
): Promise<readonly number[]> {
  const values: Record<string, string> = { prefix: prompt.text, suffix };
  const text = template.replaceAll(/\{(prefix|suffix)\}/g, (_, name: string) => values[name] ?? "");
  return tokenizeWithin(engine, text, { addSpecial: true, parseSpecial: true, maxTokens });
}
