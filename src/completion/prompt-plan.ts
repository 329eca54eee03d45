/** How one prompt of a request is to be answered: what is evaluated, and where choices come from. */
import type { CompletionRequest, Prompt } from "../contract/completion-request.ts";
import { ApiError } from "../contract/errors.ts";
import { limitsProfiles } from "../contract/limits.ts";
import type { Caller, Engine } from "../engine/engine.ts";
import { type ChoiceEvent, rankedChoices, streamedChoices } from "./candidates.ts";
import { checkContext } from "./context-length.ts";
import { type Insertion, infillTokens } from "./insertion.ts";
import { completionJob } from "./job.ts";
import { type PreparedPrompt, preparePrompt } from "./prompt.ts";
import { rerankCandidates, rerankedChoices, suffixTokensMax } from "./rerank.ts";
import { tokenizeStart } from "./tokenize-within.ts";

export interface CompletionModel {
  readonly engine: Engine;
  readonly insertion: Insertion;
}

export interface PlanOptions {
  readonly request: CompletionRequest;
  readonly model: CompletionModel;
  readonly seed: number;
  readonly caller: Caller | undefined;
}

export interface PromptPlan {
  readonly prompt: PreparedPrompt;
  /** Tokens that usage counts as the prompt: what the engine reads. */
  readonly promptTokens: number;
  /** Candidates that are run for it. */
  readonly candidates: number;
  choices(signal: AbortSignal): AsyncIterable<ChoiceEvent>;
}

/** Throws an ApiError where the prompt does not fit the model. */
export async function planPrompt(prompt: Prompt, options: PlanOptions): Promise<PromptPlan> {
  const { request, model, seed, caller } = options;
  const { engine } = model;
  const { vocabulary } = engine.describe();
  const prepared = await preparePrompt(prompt, engine, request.maxTokens);
  const infill =
    request.suffix === undefined
      ? prepared.tokens
      : await infillTokens(prepared, request.suffix, model, request.maxTokens);
  const tokens = infill ?? prepared.tokens;
  checkContext(tokens.length, request, engine.describe());
  const job = completionJob({ tokens, request, vocabulary, seed, caller });
  const plan = { prompt: prepared, promptTokens: tokens.length, candidates: job.candidates };
  if (infill === undefined && request.maxTokens > 0) {
    checkRerankCandidates(request);
    const options = { addSpecial: false, parseSpecial: true };
    const suffix = await tokenizeStart(engine, request.suffix ?? "", options, suffixTokensMax);
    const choices = (signal: AbortSignal) =>
      rerankedChoices({ engine, request, job, suffix, signal });
    return { ...plan, candidates: rerankCandidates(request), choices };
  }
  const choices = (signal: AbortSignal) => {
    const events = engine.run(job, signal);
    return request.bestOf > request.n ? rankedChoices(events, request) : streamedChoices(events);
  };
  return { ...plan, choices };
}

function checkRerankCandidates(request: CompletionRequest): void {
  const prompts = request.prompts.length;
  const candidates = rerankCandidates(request);
  const total = prompts * candidates;
  const limit = limitsProfiles.openai.candidatesMax;
  if (total <= limit) return;
  throw new ApiError("tooManyCandidates", { prompts, candidates, total, limit });
}
