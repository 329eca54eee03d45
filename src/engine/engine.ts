/**
 * The main seam of the project. An engine is a source of tokens: give it a prompt as token ids and
 * it answers with events that carry ids, bytes, raw logprobs and the text that may be shown.
 *
 * The embedded engine (llama/) offers it from a process of its own; the fake engine (engine/fake)
 * in memory; a remote engine from an upstream server.
 */

export interface Engine {
  /** What is served. Constant while the engine lives. */
  describe(): EngineDescription;
  /** Text to token ids. `addSpecial` adds what the model file asks for in front (BOS). */
  tokenize(text: string, options: TokenizeOptions): Promise<readonly number[]>;
  /**
   * Runs one job. Events come in order; the iterable ends after the last candidate finished.
   * Aborting the signal ends it (the iterator returns, or throws the signal's reason) and frees
   * everything within one step. Fails with an ApiError when the engine dies.
   */
  run(job: Job, signal: AbortSignal): AsyncIterable<EngineEvent>;
  /** Ends the engine. Running jobs fail. */
  close(): Promise<void>;
}

export interface TokenizeOptions {
  readonly addSpecial: boolean;
  readonly parseSpecial: boolean;
}

export interface EngineDescription {
  /** The artifact served, for example `SmolLM2-135M-Instruct.Q8_0`. */
  readonly artifact: string;
  /** Changes when the model file, the library or the sampling code changes, else never. */
  readonly fingerprint: string;
  /** Tokens of one sequence: prompt and completion together. */
  readonly contextLength: number;
  /** Sequences evaluated at once. */
  readonly slots: number;
  readonly vocabulary: Vocabulary;
}

export interface Vocabulary {
  readonly size: number;
  /** Bytes of a token as it stands in text; special tokens give the bytes of their name. */
  bytes(token: number): Uint8Array;
  /** Control tokens (BOS, EOS, FIM markers, ...): no part of ordinary text. */
  isSpecial(token: number): boolean;
  /** Tokens that end a generation: EOS, end of turn, ... */
  isEndOfGeneration(token: number): boolean;
  readonly bos: number | undefined;
  readonly eos: number | undefined;
  readonly pad: number | undefined;
  /** Whether `addSpecial` puts a BOS in front. */
  readonly addsBos: boolean;
  /** The token that opens a document: `<|endoftext|>` if the vocabulary has it, else BOS or EOS. */
  readonly documentStart: number;
  /** Fill-in-the-middle markers, where the vocabulary has all three. */
  readonly infill: InfillTokens | undefined;
  /** The chat template of the model file, which some clients ask for. */
  readonly chatTemplate: string | undefined;
  /** The id of the special token whose name is exactly this text. */
  specialToken(text: string): number | undefined;
}

export interface InfillTokens {
  readonly prefix: number;
  readonly suffix: number;
  readonly middle: number;
}

/** One prompt and what to make of it. */
export interface Job {
  /** Token ids, at least one, used as they are. */
  readonly prompt: readonly number[];
  /** Candidates to generate; with `maxTokens` 0 each finishes at once with reason `length`. */
  readonly candidates: number;
  readonly maxTokens: number;
  readonly sampling: SamplingParameters;
  readonly stop: StopConditions;
  /** Alternatives listed with each token; undefined: none. The token's own logprob is separate. */
  readonly topLogprobs: number | undefined;
  /** Whether generated tokens carry their logprob (costs a pass over the vocabulary). */
  readonly tokenLogprobs: boolean;
  /** Score prompt tokens from this index on (at least 1); undefined: do not score. */
  readonly scoreFrom: number | undefined;
  /** Whether special tokens that are generated stay out of the text. */
  readonly skipSpecialTokens: boolean;
  /** Who asks; without it the job shares with all others that do not say. */
  readonly caller?: Caller;
}

/** Whose job it is: for fairness, and for who may profit from whose prompts. */
export interface Caller {
  /** A key's identity. Prompts of one owner never speed up those of another. */
  readonly owner: string;
  /** Jobs of one request share its turn. */
  readonly request: string;
  /** `batch` jobs wait while interactive ones want a slot. */
  readonly priority: "interactive" | "batch";
}

export interface SamplingParameters {
  /** 0: the most likely token, always. */
  readonly temperature: number;
  /** 0: as temperature 0. 1: off. */
  readonly topP: number;
  /** 0 or less: off. */
  readonly topK: number;
  /** 0: off. */
  readonly minP: number;
  readonly frequencyPenalty: number;
  readonly presencePenalty: number;
  /** 1: off. Looks at prompt and generated tokens. */
  readonly repetitionPenalty: number;
  /** Pairs of token id and bias. */
  readonly logitBias: readonly (readonly [token: number, bias: number])[];
  /** Draws hash (seed, candidate, position); candidates are numbered within the job. */
  readonly seed: number;
}

export interface StopConditions {
  readonly strings: readonly string[];
  readonly tokens: readonly number[];
  readonly includeStringInText: boolean;
  readonly ignoreEos: boolean;
  /** No end of generation and no stop before this many tokens. */
  readonly minTokens: number;
}

export type EngineEvent =
  /** The job left the queue: from here on it is being worked on. */
  | { readonly kind: "admitted" }
  /** The prompt was read. `scores[i]` belongs to prompt token `scoreFrom + i`. */
  | { readonly kind: "prompt"; readonly cachedTokens: number; readonly scores: readonly Score[] }
  | TextReleased
  | CandidateFinished;

/** A token's raw logprob and the likeliest tokens at its position, best first. */
export interface Score {
  readonly logprob: number;
  readonly top: readonly TopCandidate[];
}

export type TopCandidate = readonly [token: number, logprob: number];

/**
 * Text that may be shown: no later stop string can take it back. A group holds one token, or
 * several where only the last completes a character. Text may be "" (a special token).
 */
export interface TextReleased {
  readonly kind: "text";
  readonly candidate: number;
  readonly text: string;
  readonly tokens: readonly GeneratedToken[];
}

export interface GeneratedToken {
  readonly token: number;
  /** Undefined unless the job asks for `tokenLogprobs`. */
  readonly score: Score | undefined;
  /** Code points of this candidate's text that are complete before this token. */
  readonly offset: number;
}

export interface CandidateFinished {
  readonly kind: "finished";
  readonly candidate: number;
  readonly reason: "stop" | "length";
  /** The end-of-generation token that ended it; it is in no text and in no count. */
  readonly end: GeneratedToken | undefined;
  /** Tokens whose text begins inside the returned text: what usage counts. */
  readonly tokenCount: number;
  /**
   * Mean raw logprob over the counted tokens and the end token: the rank of best_of.
   * Undefined unless the job asks for `tokenLogprobs`.
   */
  readonly meanLogprob: number | undefined;
}
