/** Builds the four arrays of a `logprobs` object from tokens and their scores. */
import type { Logprobs, TopLogprobs } from "../contract/responses.ts";
import type { Score, Vocabulary } from "../engine/engine.ts";
import { renderToken } from "../text/render-token.ts";

/** Texts of tokens that were needed before: at most one for each token of a vocabulary. */
const textsByVocabulary = new WeakMap<Vocabulary, Map<number, string>>();

/** How a token is written (`renderToken`). Throws a RangeError for one that does not exist. */
export function tokenText(token: number, vocabulary: Vocabulary): string {
  const texts = textsByVocabulary.get(vocabulary) ?? new Map<number, string>();
  textsByVocabulary.set(vocabulary, texts);
  const known = texts.get(token);
  if (known !== undefined) return known;
  const text = renderToken(vocabulary.bytes(token));
  texts.set(token, text);
  return text;
}

export function emptyLogprobs(): Logprobs {
  return { tokens: [], token_logprobs: [], top_logprobs: [], text_offset: [] };
}

/** Appends one entry. Without a score (the first prompt token) both values are null. */
export function appendEntry(
  logprobs: Logprobs,
  entry: { token: number; score: Score | undefined; offset: number; text?: string },
  vocabulary: Vocabulary,
): void {
  const { token, score, offset } = entry;
  const text = entry.text ?? tokenText(token, vocabulary);
  logprobs.tokens.push(text);
  logprobs.token_logprobs.push(score?.logprob ?? null);
  logprobs.top_logprobs.push(score === undefined ? null : topMap(token, text, score, vocabulary));
  logprobs.text_offset.push(offset);
}

/**
 * The token itself first, then the alternatives, best first. Ids that render to the same text
 * share a key: the larger value stays, but the token's own value always wins, since clients look
 * it up by its text.
 */
function topMap(token: number, text: string, score: Score, vocabulary: Vocabulary): TopLogprobs {
  const map = new Map<string, number>([[text, score.logprob]]);
  for (const [other, logprob] of score.top) {
    if (other === token) continue;
    const key = tokenText(other, vocabulary);
    if (!map.has(key)) map.set(key, logprob);
  }
  return [...map];
}
