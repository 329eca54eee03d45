/** What the engine is asked to do for one prompt of a request. */
import type { CompletionRequest } from "../contract/completion-request.ts";
import { ApiError } from "../contract/errors.ts";
import { endTokens } from "../engine/end-tokens.ts";
import type { Caller, Job, SamplingParameters, Vocabulary } from "../engine/engine.ts";

/** Unlike a seed of 2^53 and more, every whole number below is exact. */
const seedsMax = 2 ** 48;
/** End tokens of the GPT vocabularies: programs written for those ban or force them by id. */
const gptEndTokens = [50256, 100257];

export interface JobOptions {
  readonly tokens: readonly number[];
  readonly request: CompletionRequest;
  readonly vocabulary: Vocabulary;
  /** The request's, or a fresh one. */
  readonly seed: number;
  readonly caller: Caller | undefined;
}

export function completionJob({ tokens, request, vocabulary, seed, caller }: JobOptions): Job {
  const { extensions, logprobs } = request;
  const ranked = request.bestOf > request.n;
  return {
    prompt: tokens,
    candidates: request.bestOf,
    maxTokens: request.maxTokens,
    sampling: samplingParameters(request, vocabulary, seed),
    stop: {
      strings: request.stop,
      tokens: stopTokens(request, vocabulary),
      includeStringInText: extensions.includeStopStringInOutput,
      ignoreEos: extensions.ignoreEos,
      minTokens: extensions.minTokens,
    },
    topLogprobs: logprobs,
    tokenLogprobs: logprobs !== undefined || ranked,
    scoreFrom: request.echo && logprobs !== undefined ? 1 : undefined,
    skipSpecialTokens: extensions.skipSpecialTokens,
    ...(caller === undefined ? {} : { caller }),
  };
}

function samplingParameters(
  request: CompletionRequest,
  vocabulary: Vocabulary,
  seed: number,
): SamplingParameters {
  const { temperature, topP, frequencyPenalty, presencePenalty, extensions } = request;
  const { topK, minP, repetitionPenalty } = extensions;
  return {
    temperature,
    topP,
    topK,
    minP,
    frequencyPenalty,
    presencePenalty,
    repetitionPenalty,
    logitBias: logitBias(request.logitBias, vocabulary),
    seed,
  };
}

/** The request's seed, or a fresh one. */
export function seedOf(request: CompletionRequest): number {
  return request.seed ?? Math.floor(Math.random() * seedsMax);
}

function logitBias(
  biases: ReadonlyMap<number, number>,
  vocabulary: Vocabulary,
): readonly (readonly [number, number])[] {
  const checked = new Map<number, number>();
  for (const [token, bias] of biases) {
    if (token < vocabulary.size) checked.set(token, bias);
    else if (gptEndTokens.includes(token)) {
      for (const end of endTokens(vocabulary)) if (!biases.has(end)) checked.set(end, bias);
    } else throw beyondVocabulary("logit_bias", token, vocabulary);
  }
  return [...checked];
}

function stopTokens(request: CompletionRequest, vocabulary: Vocabulary): readonly number[] {
  const { stopTokenIds } = request.extensions;
  for (const token of stopTokenIds) {
    if (token >= vocabulary.size) throw beyondVocabulary("stop_token_ids", token, vocabulary);
  }
  return stopTokenIds;
}

function beyondVocabulary(param: string, token: number, vocabulary: Vocabulary): ApiError {
  const reason =
    `token ${token} is beyond the vocabulary of this model, ` +
    `whose highest token is ${vocabulary.size - 1}`;
  return new ApiError("invalidValue", { param, reason });
}
