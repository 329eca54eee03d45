/** What scorers have in common: pairs of context and continuation, and the rules of lm-eval. */
import { expect } from "vitest";
import { sum, tokenize, type WireLogprobs } from "./requests.ts";

export interface Pair {
  readonly context: string;
  readonly continuation: string;
}

/** Contexts end where a token ends, as scorers require. */
export const pairs: readonly Pair[] = [
  { context: "The capital of France is", continuation: " Paris." },
  { context: "The capital of France is", continuation: " London." },
  { context: "Grüße aus Köln 😀 und", continuation: " viel Glück" },
  { context: "日本語の文:", continuation: " 水と火" },
];

export interface Scored {
  readonly logprob: number;
  readonly isGreedy: boolean;
}

export interface TokenPair {
  readonly tokens: readonly number[];
  /** Tokens of the context. */
  readonly contextLength: number;
}

/** Context and continuation in one token array, cut as the whole text is cut. */
export async function tokenizePair({ context, continuation }: Pair): Promise<TokenPair> {
  const tokens = await tokenize(context + continuation);
  const contextTokens = await tokenize(context);
  expect(tokens.slice(0, contextTokens.length)).toEqual(contextTokens);
  return { tokens, contextLength: contextTokens.length };
}

/**
 * The rule of lm-eval's `local-completions`: everything from the context's token count on, without
 * the last entry; greedy when each value is the greatest of its map, compared as it was printed.
 */
export function scoreAsLmEval(logprobs: WireLogprobs, contextLength: number): Scored {
  const values = logprobs.token_logprobs.slice(contextLength, -1) as readonly number[];
  const tops = logprobs.top_logprobs.slice(contextLength, -1);
  const isGreedy = values.every(
    (value, index) => value === Math.max(...Object.values(tops[index] ?? {})),
  );
  return { logprob: sum(values), isGreedy };
}
