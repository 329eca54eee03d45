/**
 * One request from prompts to choices. Streaming and not are the same path: parts of choices in
 * the order of the wire, which http/ writes as they come or folds into one response.
 */
import type { CompletionRequest } from "../contract/completion-request.ts";
import type { Choice } from "../contract/responses.ts";
import type { Caller, Vocabulary } from "../engine/engine.ts";
import { unlessAborted } from "../engine/unless-aborted.ts";
import { ChoiceAssembler, echoedLogprobs } from "./choice-assembler.ts";
import type { CompletionPart, CompletionRun } from "./completion-run.ts";
import { roomFor } from "./fair-parts.ts";
import { seedOf } from "./job.ts";
import { merge } from "./merge.ts";
import { type CompletionModel, type PromptPlan, planPrompt } from "./prompt-plan.ts";
import { UsageCounter } from "./usage.ts";

/**
 * Checks a request against the model and starts it. Throws an ApiError where it does not fit: a
 * token beyond the vocabulary, a prompt beyond the context, a suffix the model cannot use.
 */
export async function startCompletion(
  request: CompletionRequest,
  model: CompletionModel,
  signal: AbortSignal,
  caller?: Caller,
): Promise<CompletionRun> {
  const { artifact, fingerprint, vocabulary } = model.engine.describe();
  const seed = seedOf(request);
  // Texts may have to wait for an engine that starts; the request need not.
  const planning = Promise.all(
    request.prompts.map((prompt) => planPrompt(prompt, { request, model, seed, caller })),
  );
  const plans = await unlessAborted(planning, signal);
  const usage = new UsageCounter();
  for (const plan of plans) usage.promptTokens += plan.promptTokens;
  const candidates = plans.reduce((sum, plan) => sum + plan.candidates, 0);
  return {
    artifact,
    fingerprint,
    promptTokens: usage.promptTokens,
    completionTokensMax: candidates * request.maxTokens,
    candidates,
    used: () => usage.used(),
    parts: run(plans, { request, vocabulary, usage, signal }),
  };
}

interface RunOptions {
  readonly request: CompletionRequest;
  readonly vocabulary: Vocabulary;
  readonly usage: UsageCounter;
  readonly signal: AbortSignal;
}

async function* run(
  plans: readonly PromptPlan[],
  { request, vocabulary, usage, signal }: RunOptions,
): AsyncGenerator<CompletionPart> {
  const ended = new AbortController();
  const either = AbortSignal.any([signal, ended.signal]);
  const sources = plans.map((plan, index) => {
    const assemblers = newAssemblers(plan, index * request.n, request, vocabulary);
    return promptParts(plan, assemblers, { request, vocabulary, usage, signal: either });
  });
  let admitted = false;
  try {
    for await (const part of merge(sources)) {
      if (part === "admitted") {
        if (!admitted) yield { kind: "admitted" };
        admitted = true;
        continue;
      }
      await roomFor(part);
      yield { kind: "choice", choice: part, usage: usage.usage() };
    }
    yield { kind: "usage", usage: usage.usage() };
  } finally {
    ended.abort(); // one prompt failed or the reader left: the others have no use any more
  }
}

/** Choice j of prompt i has index i * n + j. */
function newAssemblers(
  plan: PromptPlan,
  firstIndex: number,
  request: CompletionRequest,
  vocabulary: Vocabulary,
): ChoiceAssembler[] {
  return Array.from({ length: request.n }, (_, choice) => {
    const index = firstIndex + choice;
    return new ChoiceAssembler({ index, request, prompt: plan.prompt, vocabulary });
  });
}

async function* promptParts(
  plan: PromptPlan,
  assemblers: readonly ChoiceAssembler[],
  { request, vocabulary, usage, signal }: RunOptions,
): AsyncGenerator<Choice | "admitted"> {
  let admitted = false;
  for await (const event of plan.choices(signal)) {
    if (event.kind === "admitted") {
      if (!admitted) usage.admittedTokens += plan.promptTokens;
      admitted = true;
      yield "admitted";
    } else if (event.kind === "counted") usage.completionTokens += event.tokens;
    else if (event.kind === "prompt") {
      usage.cachedTokens += event.cachedTokens;
      if (!request.echo) continue;
      // Built once: all choices of a prompt echo the same.
      const logprobs =
        request.logprobs === undefined
          ? null
          : echoedLogprobs(plan.prompt, event.scores, vocabulary);
      for (const assembler of assemblers) yield* assembler.echo(logprobs);
    } else {
      const assembler = assemblers[event.choice];
      if (assembler === undefined) continue;
      const candidate = event.event;
      yield* candidate.kind === "text" ? assembler.text(candidate) : assembler.finish(candidate);
    }
  }
}
