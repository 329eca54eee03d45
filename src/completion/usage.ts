/** Counts what a request used; see docs/reference/api.md for what counts as a token. */
import type { Usage } from "../contract/responses.ts";

export class UsageCounter {
  /** Each prompt once, however many choices it gets. */
  promptTokens = 0;
  /** Those of prompts that have left the queue. */
  admittedTokens = 0;
  /** Prompt tokens that a prefix cache spared. */
  cachedTokens = 0;
  /** Tokens of all candidates, returned or not. */
  completionTokens = 0;

  usage(): Usage {
    return this.#with(this.promptTokens);
  }

  /** As `usage`, without prompts that still wait. */
  used(): Usage {
    return this.#with(this.admittedTokens);
  }

  #with(promptTokens: number): Usage {
    return {
      prompt_tokens: promptTokens,
      completion_tokens: this.completionTokens,
      total_tokens: promptTokens + this.completionTokens,
      prompt_tokens_details: { cached_tokens: this.cachedTokens },
      completion_tokens_details: { reasoning_tokens: 0 },
    };
  }
}
