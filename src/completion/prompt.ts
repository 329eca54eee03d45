/** Turns each prompt of a request into token ids, and checks them against the model. */
import type { Prompt } from "../contract/completion-request.ts";
import { ApiError } from "../contract/errors.ts";
import { shorten } from "../contract/shorten.ts";
import type { Engine, Vocabulary } from "../engine/engine.ts";
import { tokenizeWithin } from "./tokenize-within.ts";

export interface PreparedPrompt {
  /** What the engine evaluates. */
  readonly tokens: readonly number[];
  /** What echo gives back. */
  readonly text: string;
  /** Tokens in front that are in no text: an added BOS, the document start. 0 or 1. */
  readonly hiddenTokens: number;
}

/** Throws an ApiError for tokens beyond the vocabulary and texts far beyond the context. */
export async function preparePrompt(
  prompt: Prompt,
  engine: Engine,
  maxTokens: number,
): Promise<PreparedPrompt> {
  const { vocabulary } = engine.describe();
  if (prompt.kind === "documentStart") {
    return { tokens: [vocabulary.documentStart], text: prompt.text, hiddenTokens: 1 };
  }
  if (prompt.kind === "tokens") {
    checkTokens(prompt.tokens, vocabulary);
    return { tokens: prompt.tokens, text: decode(prompt.tokens, vocabulary), hiddenTokens: 0 };
  }
  const tokens = await tokenizeWithin(engine, prompt.text, {
    addSpecial: true,
    parseSpecial: true,
    maxTokens,
  });
  if (tokens.length === 0) {
    return { tokens: [vocabulary.documentStart], text: prompt.text, hiddenTokens: 1 };
  }
  return { tokens, text: prompt.text, hiddenTokens: addedBos(tokens, prompt.text, vocabulary) };
}

/** 1 where the first token is a BOS that the text itself did not write. */
function addedBos(tokens: readonly number[], text: string, vocabulary: Vocabulary): number {
  const { bos, addsBos } = vocabulary;
  if (!addsBos || bos === undefined || tokens[0] !== bos) return 0;
  return text.startsWith(decode([bos], vocabulary)) ? 0 : 1;
}

/** Text of token ids; bytes that are no UTF-8 become U+FFFD. */
export function decode(tokens: readonly number[], vocabulary: Vocabulary): string {
  const pieces = tokens.map((token) => vocabulary.bytes(token));
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(Buffer.concat(pieces));
}

function checkTokens(tokens: readonly number[], vocabulary: Vocabulary): void {
  const max = vocabulary.size - 1;
  for (const token of tokens) {
    if (token < 0 || token > max)
      throw new ApiError("invalidToken", { token: shorten(token), max });
  }
}
