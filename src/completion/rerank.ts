/**
 * Insertion on models without FIM markers, by left-to-right reranking: draw candidate middles from
 * the prompt, cut each at its natural ends, score the suffix after each cut, and return the middles
 * with the highest mean raw logprob of middle and suffix together.
 *
 *   prompt | middle ........ cut | suffix ..... (first 64 tokens)
 *            generated, scored     scored by reading
 */
import type { CompletionRequest } from "../contract/completion-request.ts";
import type { Engine, EngineEvent, GeneratedToken, Job } from "../engine/engine.ts";
import {
  asChoices,
  type ChoiceEvent,
  collectCandidates,
  type WholeCandidate,
} from "./candidates.ts";

/** Candidates drawn for each choice; at temperature 0 they would all be equal, so it is one. */
export const candidatesPerChoice = 4;
/** Suffix tokens that are scored. */
export const suffixTokensMax = 64;
/** Cuts tried for each candidate, its end included. */
const cutsMax = 8;
/** Scoring jobs given to the engine at once. */
const scoringJobsMax = 8;

/** Ends of lines and sentences, closing quotes and brackets included. */
const naturalEnd = /(?:\n|[.!?…。！？]["'”’)\]]*\s*)$/u;

export interface RerankOptions {
  readonly engine: Engine;
  readonly request: CompletionRequest;
  /** The job as it would be without a suffix. */
  readonly job: Job;
  readonly suffix: readonly number[];
  readonly signal: AbortSignal;
}

interface Middle extends WholeCandidate {
  /** Over the middle and the suffix after it. */
  readonly meanLogprob: number;
}

/** Candidates drawn for one prompt. */
export function rerankCandidates(request: CompletionRequest): number {
  const greedy = request.temperature === 0 || request.topP === 0;
  const perChoice = greedy ? 1 : candidatesPerChoice;
  return Math.max(request.bestOf, request.n * perChoice);
}

export async function* rerankedChoices(options: RerankOptions): AsyncGenerator<ChoiceEvent> {
  const { engine, request, signal } = options;
  const candidates = rerankCandidates(request);
  const job: Job = { ...options.job, candidates, tokenLogprobs: true };
  const whole = yield* collectCandidates(engine.run(job, signal));
  const best = bestOfEach(await scoreMiddles(whole.flatMap(cuts), options));
  yield* asChoices(best.slice(0, request.n));
}

/** The candidate whole, and cut after each line and sentence in it. */
function cuts({ texts, finished }: WholeCandidate): WholeCandidate[] {
  const found: WholeCandidate[] = [];
  let text = "";
  for (const [index, released] of texts.slice(0, -1).entries()) {
    text += released.text;
    if (found.length === cutsMax - 1) break;
    if (!naturalEnd.test(text) || naturalEnd.test(text + (texts[index + 1]?.text ?? ""))) continue;
    const kept = texts.slice(0, index + 1);
    const tokenCount = kept.reduce((count, { tokens }) => count + tokens.length, 0);
    found.push({
      texts: kept,
      finished: { ...finished, reason: "stop", end: undefined, tokenCount },
    });
  }
  return [...found, { texts, finished }];
}

async function scoreMiddles(
  middles: readonly WholeCandidate[],
  options: RerankOptions,
): Promise<Middle[]> {
  const scored: Middle[] = [];
  const worker = async (entries: Iterator<[number, WholeCandidate]>) => {
    for (let next = entries.next(); next.done !== true; next = entries.next()) {
      const [index, middle] = next.value;
      scored[index] = { ...middle, meanLogprob: await meanLogprob(middle, options) };
    }
  };
  const entries = middles.entries();
  await Promise.all(Array.from({ length: scoringJobsMax }, () => worker(entries)));
  return scored;
}

/** Mean raw logprob over the middle's tokens and the suffix tokens after them. */
async function meanLogprob(middle: WholeCandidate, options: RerankOptions): Promise<number> {
  const generated = middle.texts.flatMap(({ tokens }) => tokens);
  const own = generated.map(({ score }) => score?.logprob ?? 0);
  const suffix = await suffixLogprobs(generated, options);
  const all = [...own, ...suffix];
  if (all.length === 0) return Number.NEGATIVE_INFINITY;
  return all.reduce((sum, logprob) => sum + logprob, 0) / all.length;
}

async function suffixLogprobs(
  generated: readonly GeneratedToken[],
  options: RerankOptions,
): Promise<number[]> {
  const { engine, job, signal } = options;
  const context = [...job.prompt, ...generated.map(({ token }) => token)];
  const room = engine.describe().contextLength - context.length;
  const suffix = options.suffix.slice(0, Math.max(0, Math.min(room, suffixTokensMax)));
  if (suffix.length === 0) return [];
  const scoring: Job = {
    ...job,
    prompt: [...context, ...suffix],
    candidates: 1,
    maxTokens: 0,
    topLogprobs: undefined,
    tokenLogprobs: false,
    scoreFrom: context.length,
  };
  const scores: number[] = [];
  for await (const event of engine.run(scoring, signal)) scores.push(...promptLogprobs(event));
  return scores;
}

function promptLogprobs(event: EngineEvent): number[] {
  return event.kind === "prompt" ? event.scores.map(({ logprob }) => logprob) : [];
}

/** Each candidate's best cut, best candidate first; at a tie the earlier. */
function bestOfEach(middles: readonly Middle[]): Middle[] {
  const best = new Map<number, Middle>();
  for (const middle of middles) {
    const known = best.get(middle.finished.candidate);
    if (known !== undefined && known.meanLogprob >= middle.meanLogprob) continue;
    best.set(middle.finished.candidate, middle);
  }
  return [...best.values()].toSorted((left, right) => right.meanLogprob - left.meanLogprob);
}
