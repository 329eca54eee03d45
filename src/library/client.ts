/** The calls that a program makes, to a model of its own or to a server: the same for both. */
import type { CreateParameters, StreamParameters } from "./request-types.ts";
import type { CompletionChunk, CompletionResponse } from "./response-types.ts";
import type { TextScore } from "./text-score.ts";

export interface CallOptions {
  /** Ends the call; it then throws the signal's reason, and the model stops within one step. */
  readonly signal?: AbortSignal | undefined;
}

export interface ScoreOptions extends CallOptions {
  readonly model?: string | undefined;
  /** How many of the likeliest tokens each position lists; 0 to 5. Default 0. */
  readonly alternatives?: number | undefined;
}

export interface TokenizeOptions extends CallOptions {
  readonly model?: string | undefined;
  /** Whether the token that the model wants in front of a text is added. Default true. */
  readonly addSpecial?: boolean | undefined;
}

export interface DetokenizeOptions extends CallOptions {
  readonly model?: string | undefined;
}

/** All calls throw an ApiError when the request or the model is at fault. */
export interface CompletionClient {
  /** The whole answer. */
  create(request: CreateParameters, options?: CallOptions): Promise<CompletionResponse>;
  /**
   * The answer in chunks, as they are generated. Begins when the first is asked for; leaving the
   * loop ends the generation.
   */
  stream(request: StreamParameters, options?: CallOptions): AsyncIterable<CompletionChunk>;
  /** How likely the model finds a text, token by token. Nothing is generated. */
  score(text: string | readonly number[], options?: ScoreOptions): Promise<TextScore>;
  /** Token ids. Names of control tokens in the text become these tokens, as in a prompt. */
  tokenize(text: string, options?: TokenizeOptions): Promise<number[]>;
  /** The text of token ids. Bytes that are no UTF-8 become U+FFFD. */
  detokenize(tokens: readonly number[], options?: DetokenizeOptions): Promise<string>;
  /** Ends running calls and frees everything. Later calls throw a ClientClosedError. */
  close(): Promise<void>;
  /** As `close()`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** The client was closed while a call ran, or before it. */
export class ClientClosedError extends Error {
  override readonly name = "ClientClosedError";

  constructor() {
    super("the client was closed");
  }
}
