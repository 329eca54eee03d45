/**
 * The plain way from a job's events to parts of choices: candidates are choices and go out as they
 * come, unless best_of asks for more than are returned; then all are awaited and ranked.
 */
import type { CompletionRequest } from "../contract/completion-request.ts";
import type { CandidateFinished, EngineEvent, Score, TextReleased } from "../engine/engine.ts";

type CandidateEvent = TextReleased | CandidateFinished;

/** Events of candidates, renumbered as choices of this prompt. */
export type ChoiceEvent =
  | { readonly kind: "admitted" }
  | { readonly kind: "prompt"; readonly cachedTokens: number; readonly scores: readonly Score[] }
  /** Tokens that count in usage, whether their candidate is returned or not. */
  | { readonly kind: "counted"; readonly tokens: number }
  | { readonly kind: "candidate"; readonly choice: number; readonly event: CandidateEvent };

export async function* streamedChoices(
  events: AsyncIterable<EngineEvent>,
): AsyncGenerator<ChoiceEvent> {
  for await (const event of events) {
    if (event.kind === "text") yield { kind: "counted", tokens: event.tokens.length };
    yield isCandidateEvent(event) ? { kind: "candidate", choice: event.candidate, event } : event;
  }
}

/**
 * The n candidates with the highest mean logprob, best first; at a tie the lower number. An
 * undefined mean (nothing was generated) ranks last.
 */
export async function* rankedChoices(
  events: AsyncIterable<EngineEvent>,
  request: CompletionRequest,
): AsyncGenerator<ChoiceEvent> {
  const candidates = yield* collectCandidates(events);
  const rank = ({ finished }: WholeCandidate) => finished.meanLogprob ?? Number.NEGATIVE_INFINITY;
  // Equal ranks, and two of minus infinity, leave the order of the numbers.
  candidates.sort((left, right) => rank(right) - rank(left) || 0);
  yield* asChoices(candidates.slice(0, request.n));
}

/** All that a candidate released, and its end. */
export interface WholeCandidate {
  readonly texts: readonly TextReleased[];
  readonly finished: CandidateFinished;
}

/** Awaits all candidates, in the order of their numbers; passes on what is not theirs. */
export async function* collectCandidates(
  events: AsyncIterable<EngineEvent>,
): AsyncGenerator<ChoiceEvent, WholeCandidate[]> {
  const texts = new Map<number, TextReleased[]>();
  const candidates: WholeCandidate[] = [];
  for await (const event of events) {
    if (event.kind === "text") {
      const released = texts.get(event.candidate);
      if (released === undefined) texts.set(event.candidate, [event]);
      else released.push(event);
      yield { kind: "counted", tokens: event.tokens.length };
    } else if (event.kind === "finished") {
      candidates.push({ texts: texts.get(event.candidate) ?? [], finished: event });
    } else yield event;
  }
  return candidates.sort((left, right) => left.finished.candidate - right.finished.candidate);
}

/** Candidates as choices, the first as choice 0. */
export function* asChoices(candidates: readonly WholeCandidate[]): Generator<ChoiceEvent> {
  for (const [choice, { texts, finished }] of candidates.entries()) {
    for (const event of texts) yield { kind: "candidate", choice, event };
    yield { kind: "candidate", choice, event: finished };
  }
}

function isCandidateEvent(event: EngineEvent): event is CandidateEvent {
  return event.kind === "text" || event.kind === "finished";
}
