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
  const texts: TextReleased[][] = Array.from({ length: request.bestOf }, () => []);
  const finished: CandidateFinished[] = [];
  for await (const event of events) {
    if (event.kind === "finished") finished.push(event);
    else if (event.kind !== "text") yield event;
    else {
      texts[event.candidate]?.push(event);
      yield { kind: "counted", tokens: event.tokens.length };
    }
  }
  const rank = (event: CandidateFinished) => event.meanLogprob ?? Number.NEGATIVE_INFINITY;
  finished.sort((left, right) => {
    const difference = rank(right) - rank(left);
    return Number.isNaN(difference) || difference === 0
      ? left.candidate - right.candidate
      : difference;
  });
  for (const [choice, end] of finished.slice(0, request.n).entries()) {
    for (const event of texts[end.candidate] ?? []) yield { kind: "candidate", choice, event };
    yield { kind: "candidate", choice, event: end };
  }
}

function isCandidateEvent(event: EngineEvent): event is CandidateEvent {
  return event.kind === "text" || event.kind === "finished";
}
