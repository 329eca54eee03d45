/** How likely a model finds a text: read from an answer that echoes it with logprobs. */
import type { CreateParameters } from "./request-types.ts";
import type { CompletionResponse } from "./response-types.ts";

export interface TokenScore {
  readonly text: string;
  /** null for the first token: nothing stands before it. */
  readonly logprob: number | null;
  /** Code points from the start of the text. */
  readonly offset: number;
  /** The token itself and the likeliest others, with their logprobs; null where `logprob` is. */
  readonly alternatives: Readonly<Record<string, number>> | null;
}

export interface TextScore {
  /** The model that scored. */
  readonly model: string;
  readonly tokens: readonly TokenScore[];
  /** How many of the tokens have a logprob. */
  readonly scoredTokens: number;
  /** Sum of the logprobs. */
  readonly total: number;
  /** `exp(-total / scoredTokens)`; NaN when no token was scored. */
  readonly perplexity: number;
}

/** A request that generates nothing and gives the prompt back with its logprobs. */
export function scoringRequest(
  text: string | readonly number[],
  options: { readonly model?: string | undefined; readonly alternatives?: number | undefined },
): CreateParameters {
  const { model, alternatives = 0 } = options;
  return { model, prompt: text, max_tokens: 0, echo: true, logprobs: alternatives };
}

/** Undefined when the answer has no logprobs, or not for every token: the server left out `echo`. */
export function readScore(response: CompletionResponse): TextScore | undefined {
  const logprobs = response.choices[0]?.logprobs;
  if (logprobs === null || logprobs === undefined) return undefined;
  const { tokens, token_logprobs, top_logprobs, text_offset } = logprobs;
  if (token_logprobs.length !== tokens.length) return undefined;
  if (tokens.length < (response.usage?.prompt_tokens ?? 0)) return undefined;
  const scored = token_logprobs.filter((logprob) => logprob !== null);
  const total = scored.reduce((sum, logprob) => sum + logprob, 0);
  return {
    model: response.model,
    tokens: tokens.map((text, index) => ({
      text,
      logprob: token_logprobs[index] ?? null,
      offset: text_offset[index] ?? 0,
      alternatives: top_logprobs?.[index] ?? null,
    })),
    scoredTokens: scored.length,
    total,
    perplexity: Math.exp(-total / scored.length),
  };
}
