/**
 * A request as a program writes it: the fields of OpenAI's CreateCompletionRequest, and those that
 * this project adds. `null` and absence mean the default, for every field.
 */

/**
 * What is completed: a text, several texts, token ids, or several lists of token ids. Several
 * prompts are answered in one response, in their order. Token ids are used exactly as they are. null,
 * absence, `""` and `"<|endoftext|>"` mean the start of a document.
 *
 * `typeof prompt === "string"` tells the single text from the lists.
 */
export type Prompt =
  | string
  | readonly string[]
  | readonly number[]
  | readonly (readonly number[])[];

/** One text that ends a completion, or several. `typeof stop === "string"` tells them apart. */
export type Stop = string | readonly string[];

/** What a stream carries besides text. */
export interface StreamOptions {
  /**
   * Ends the stream with a chunk that has no choices and the usage of the whole request. All other
   * chunks carry `usage: null` then. Default false.
   */
  readonly include_usage?: boolean | null | undefined;
  /** Pads chunks, so that their sizes say nothing about the text. Default false. */
  readonly include_obfuscation?: boolean | null | undefined;
  /** Puts the usage so far on every chunk. Not in OpenAI's contract. Default false. */
  readonly continuous_usage_stats?: boolean | null | undefined;
}

/** The eighteen fields of OpenAI's contract. */
export interface CreateCompletionRequest {
  /** Which model answers; see `GET /v1/models`. Default: the one that is served. */
  readonly model?: string | null | undefined;
  /** Default: the start of a document. */
  readonly prompt?: Prompt | null | undefined;
  /**
   * Text that comes after the completion: what is generated goes between prompt and suffix. Default:
   * none.
   */
  readonly suffix?: string | null | undefined;
  /**
   * Tokens to generate at most, for each choice. Together with the prompt they must fit the
   * model's context. 0 generates nothing; with `echo` and `logprobs` it scores the prompt. Default 16.
   */
  readonly max_tokens?: number | null | undefined;
  /**
   * 0 to 2. Logits are divided by it before drawing: below 1 likely tokens gain, above 1 they lose;
   * 0 always takes the likeliest. Default 1.
   */
  readonly temperature?: number | null | undefined;
  /**
   * 0 to 1. Draws only from the likeliest tokens that together have this probability; 0 is as
   * temperature 0. Default 1: from all tokens.
   */
  readonly top_p?: number | null | undefined;
  /** 1 to 128. Choices for each prompt; choice j of prompt i has the index i * n + j. Default 1. */
  readonly n?: number | null | undefined;
  /** Which of the two calls it is for: `create()` takes false, `stream()` true. Set by both. */
  readonly stream?: boolean | null | undefined;
  /** Only for streams. Default: nothing but text. */
  readonly stream_options?: StreamOptions | null | undefined;
  /**
   * 0 to 5 (20 with the `extended` limits). Returns, for every token, its logprob and this many of
   * the likeliest alternatives: the model's own distribution, before bias, penalties and temperature.
   * Default: no logprobs.
   */
  readonly logprobs?: number | null | undefined;
  /** Puts the prompt in front of the text, and its tokens in front of the logprobs. Default false. */
  readonly echo?: boolean | null | undefined;
  /**
   * Up to 4 texts (64 with the `extended` limits). Generation ends before the first of them; the text
   * does not contain it. Empty texts are ignored. Default: none.
   */
  readonly stop?: Stop | null | undefined;
  /** -2 to 2. Taken once from the logit of every token that was generated before. Default 0. */
  readonly presence_penalty?: number | null | undefined;
  /** -2 to 2. Taken from the logit of a token for each time it was generated before. Default 0. */
  readonly frequency_penalty?: number | null | undefined;
  /**
   * 0 to 20, at least `n`. Generates this many candidates for each prompt and returns the `n` with the
   * highest mean logprob per token. More than `n` cannot be streamed. Default, and 0: `n`.
   */
  readonly best_of?: number | null | undefined;
  /**
   * Token id to a number from -100 to 100 that is added to its logit before drawing; -100 bans, 100
   * forces. At most 1,024 entries. Default: none.
   */
  readonly logit_bias?: Readonly<Record<string, number>> | null | undefined;
  /** A name for whoever asks, for the records of who runs the server. Default: none. */
  readonly user?: string | null | undefined;
  /**
   * A whole number. The same request with the same seed draws the same tokens; a negative one counts
   * as absent. Default: a fresh one each time.
   */
  readonly seed?: number | null | undefined;
}

/** Fields outside OpenAI's contract. Other servers may ignore or refuse them. */
export interface CompletionExtensions {
  /** -1 or more. Draws only from this many of the likeliest tokens. Default -1, and 0: from all. */
  readonly top_k?: number | null | undefined;
  /** 0 to 1. Leaves out tokens less likely than this share of the likeliest. Default 0: off. */
  readonly min_p?: number | null | undefined;
  /** Above 0, up to 10. Divides the logits of tokens in prompt and completion. Default 1: off. */
  readonly repetition_penalty?: number | null | undefined;
  /** Goes on after a token that ends the text. Default false. */
  readonly ignore_eos?: boolean | null | undefined;
  /** 0 to `max_tokens`. Neither the end of the text nor a stop before this many tokens. Default 0. */
  readonly min_tokens?: number | null | undefined;
  /** Up to 64 token ids that end a completion. Default: none. */
  readonly stop_token_ids?: readonly number[] | null | undefined;
  /** Keeps the stop text that ended a completion at its end. Default false. */
  readonly include_stop_str_in_output?: boolean | null | undefined;
  /** Leaves generated control tokens out of the text. Default true. */
  readonly skip_special_tokens?: boolean | null | undefined;
}

/** Everything that a request may say. */
export interface CompletionParameters extends CreateCompletionRequest, CompletionExtensions {}

/** For `create()`: the answer comes in one piece. */
export interface CreateParameters extends CompletionParameters {
  readonly stream?: false | null | undefined;
}

/** For `stream()`: the answer comes in chunks. */
export interface StreamParameters extends CompletionParameters {
  readonly stream?: true | undefined;
}
