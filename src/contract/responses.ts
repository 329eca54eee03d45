/** The shapes that leave the server on POST /v1/completions, exactly as they are on the wire. */

/** `stop`: the text ended, or a stop text came. `length`: `max_tokens` were generated. */
export type FinishReason = "stop" | "length" | "content_filter";

/**
 * Four arrays of equal length. `top_logprobs` maps are kept as pairs until they are written,
 * because JavaScript objects reorder keys that look like integers.
 */
export interface Logprobs {
  tokens: string[];
  token_logprobs: (number | null)[];
  top_logprobs: (TopLogprobs | null)[];
  text_offset: number[];
}

/** Token text and logprob, in the order in which they are written. Keys are unique. */
export type TopLogprobs = readonly (readonly [token: string, logprob: number])[];

export interface Choice {
  text: string;
  index: number;
  logprobs: Logprobs | null;
  finish_reason: FinishReason | null;
}

export interface Usage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  /** How many prompt tokens had been read for an earlier request and were not read again. */
  prompt_tokens_details: { cached_tokens: number };
  completion_tokens_details: { reasoning_tokens: number };
}

export interface CompletionResponse {
  id: string;
  object: "text_completion";
  created: number;
  model: string;
  choices: Choice[];
  usage: Usage;
  system_fingerprint: string;
}

/** A stream's chunk: `usage` is absent unless asked for, then null on all chunks but the last. */
export interface CompletionChunk {
  id: string;
  object: "text_completion";
  created: number;
  choices: Choice[];
  model: string;
  system_fingerprint: string;
  usage?: Usage | null;
  obfuscation?: string;
}

export interface ErrorBody {
  error: { message: string; type: string; param: string | null; code: string | null };
}
