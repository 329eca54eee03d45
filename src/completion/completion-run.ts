/** What a running completion gives to the outside: parts of choices, in the order of the wire. */
import type { Choice, Usage } from "../contract/responses.ts";

export interface CompletionRun {
  /** The artifact that answers, for the `openai-model` header. */
  readonly artifact: string;
  /** For `system_fingerprint`. */
  readonly fingerprint: string;
  /** Tokens of all prompts, each once: what usage will say. */
  readonly promptTokens: number;
  /** The most tokens that usage can count: max_tokens of every candidate that is really run. */
  readonly completionTokensMax: number;
  /** Candidates in all; those that reranking draws for an insertion count. */
  readonly candidates: number;
  /**
   * What was used so far, also after a failure. Unlike in parts, a prompt counts only once it has
   * left the queue.
   */
  readonly used: () => Usage;
  /**
   * The first part is `admitted`; until then a failure is still an HTTP error. Consume once.
   * Throws an ApiError when the engine fails, the signal's reason when it was aborted.
   */
  readonly parts: AsyncIterable<CompletionPart>;
}

export type CompletionPart =
  | { readonly kind: "admitted" }
  /**
   * One chunk's worth of a choice. Each choice ends with exactly one part whose finish_reason is
   * not null. `usage` is what was used so far.
   */
  | { readonly kind: "choice"; readonly choice: Choice; readonly usage: Usage }
  /** The last part. */
  | { readonly kind: "usage"; readonly usage: Usage };
