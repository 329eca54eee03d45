/** Answers as a program reads them, the same from the library and over HTTP. */

import type { FinishReason, Usage } from "../contract/responses.ts";

export type { FinishReason };
export type CompletionUsage = Usage;

/** Four arrays with one entry for each token. */
export interface CompletionLogprobs {
  /** The token as text; a part of a character as `bytes:\xe9\x80`. */
  tokens: string[];
  /** Natural logarithms of the model's own distribution; null for the first token of an echo. */
  token_logprobs: (number | null)[];
  /** The token itself, then the likeliest alternatives. null where `token_logprobs` is. */
  top_logprobs: (Record<string, number> | null)[];
  /** Code points from the start of the prompt to the token, whether or not the prompt is echoed. */
  text_offset: number[];
}

export interface CompletionChoice {
  text: string;
  index: number;
  /** null unless the request asked for logprobs. */
  logprobs: CompletionLogprobs | null;
  /** null in the chunks of a stream, but for the last one of each choice. */
  finish_reason: FinishReason | null;
}

export interface CompletionResponse {
  id: string;
  object: "text_completion";
  /** Unix time in seconds. */
  created: number;
  model: string;
  choices: CompletionChoice[];
  usage: CompletionUsage;
  /** Changes when the same request may give another answer: other model, library or settings. */
  system_fingerprint: string;
}

export interface CompletionChunk {
  id: string;
  object: "text_completion";
  /** Unix time in seconds. */
  created: number;
  /** One choice; none in the chunk that only carries usage. */
  choices: CompletionChoice[];
  model: string;
  system_fingerprint: string;
  /** Absent unless `stream_options` ask for it. */
  usage?: CompletionUsage | null;
  obfuscation?: string;
}
