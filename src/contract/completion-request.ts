/**
 * The parsed request: what `parseCompletionRequest` makes of a JSON body. Every default is filled,
 * every limit was checked, and nothing deeper in the house sees `unknown`.
 */

/**
 * One prompt. The document start stands for null, a missing prompt, "" and `<|endoftext|>`; `text`
 * is what echo gives back: `<|endoftext|>` where the client wrote it, else "".
 */
export type Prompt =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "tokens"; readonly tokens: readonly number[] }
  | { readonly kind: "documentStart"; readonly text: string };

export interface CompletionRequest {
  /** The name the client asked for; undefined means the server's default model. */
  readonly model: string | undefined;
  /** At least one. */
  readonly prompts: readonly Prompt[];
  /** Text after the insertion; undefined when there is nothing to insert before. Never "". */
  readonly suffix: string | undefined;
  readonly maxTokens: number;
  /** Choices returned for each prompt. */
  readonly n: number;
  /** Candidates generated for each prompt; at least n. */
  readonly bestOf: number;
  readonly echo: boolean;
  /** Alternatives wanted at each position; undefined when no logprobs are wanted. */
  readonly logprobs: number | undefined;
  readonly temperature: number;
  readonly topP: number;
  readonly frequencyPenalty: number;
  readonly presencePenalty: number;
  /** Token id to bias in -100..100. Ids are not yet compared with a vocabulary. */
  readonly logitBias: ReadonlyMap<number, number>;
  /** A non-negative seed; undefined asks for a fresh one. */
  readonly seed: number | undefined;
  /** Non-empty strings, no duplicates. */
  readonly stop: readonly string[];
  readonly stream: boolean;
  readonly streamOptions: StreamOptions;
  readonly user: string | undefined;
  readonly extensions: RequestExtensions;
  /** Unknown fields that were ignored, in the order in which they were sent. */
  readonly ignoredParameters: readonly string[];
}

export interface StreamOptions {
  readonly includeUsage: boolean;
  readonly includeObfuscation: boolean;
  readonly continuousUsageStats: boolean;
}

/** Fields outside OpenAI's contract that clients send and this server honours. */
export interface RequestExtensions {
  /** 0 or less: no limit. */
  readonly topK: number;
  readonly minP: number;
  /** 1: no penalty. */
  readonly repetitionPenalty: number;
  readonly ignoreEos: boolean;
  readonly minTokens: number;
  readonly stopTokenIds: readonly number[];
  readonly includeStopStringInOutput: boolean;
  readonly skipSpecialTokens: boolean;
}
