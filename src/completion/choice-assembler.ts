/**
 * One choice from its candidate's events: text and logprobs, echo in front, and exactly one part
 * with a finish reason, which is the part of the last token when max_tokens ended it.
 */
import type { CompletionRequest } from "../contract/completion-request.ts";
import type { Choice, FinishReason, Logprobs } from "../contract/responses.ts";
import type {
  CandidateFinished,
  GeneratedToken,
  Score,
  TextReleased,
  Vocabulary,
} from "../engine/engine.ts";
import { countCodePoints } from "../text/code-points.ts";
import { appendEntry, emptyLogprobs } from "./logprobs.ts";
import type { PreparedPrompt } from "./prompt.ts";
import { layOutPrompt } from "./prompt-layout.ts";

export interface ChoiceAssemblerOptions {
  readonly index: number;
  readonly request: CompletionRequest;
  readonly prompt: PreparedPrompt;
  readonly vocabulary: Vocabulary;
}

/** Of the echoed prompt: `scores` are those of its tokens from the second on. */
export function echoedLogprobs(
  prompt: PreparedPrompt,
  scores: readonly Score[],
  vocabulary: Vocabulary,
): Logprobs {
  const logprobs = emptyLogprobs();
  for (const [index, entry] of layOutPrompt(prompt, vocabulary).entries()) {
    appendEntry(logprobs, { ...entry, score: scores[index - 1] }, vocabulary);
  }
  return logprobs;
}

export class ChoiceAssembler {
  readonly #options: ChoiceAssemblerOptions;
  /** Code points of the prompt: generated tokens are counted on from here, echoed or not. */
  readonly #baseOffset: number;
  /** A part that may turn out to be the last one. */
  #held: Choice | undefined;
  #tokens = 0;

  constructor(options: ChoiceAssemblerOptions) {
    this.#options = options;
    this.#baseOffset = countCodePoints(options.prompt.text);
  }

  /** The echoed prompt with its logprobs, if they were asked for (`echoedLogprobs`). */
  echo(logprobs: Logprobs | null): Choice[] {
    return this.#release(this.#part(this.#options.prompt.text, logprobs, null));
  }

  text(event: TextReleased): Choice[] {
    const logprobs = this.#newLogprobs();
    for (const token of event.tokens) this.#append(logprobs, token);
    this.#tokens += event.tokens.length;
    return this.#release(this.#part(event.text, logprobs, null));
  }

  finish(event: CandidateFinished): Choice[] {
    const held = this.#held;
    this.#held = undefined;
    if (held !== undefined && event.end === undefined) {
      held.finish_reason = event.reason;
      return [held];
    }
    const logprobs = this.#newLogprobs();
    // With echo the end token has an entry, so that there is one for every evaluated position:
    // harnesses drop the last entry without looking.
    if (event.end !== undefined && this.#options.request.echo) this.#append(logprobs, event.end);
    const last = this.#part("", logprobs, event.reason);
    return held === undefined ? [last] : [held, last];
  }

  /** Holds a part back where it may be the last: after it comes at once the finish. */
  #release(part: Choice): Choice[] {
    if (this.#tokens >= this.#options.request.maxTokens) {
      const held = this.#held;
      this.#held = part;
      return held === undefined ? [] : [held];
    }
    return [part];
  }

  #append(logprobs: Logprobs | null, token: GeneratedToken): void {
    if (logprobs === null) return;
    const offset = this.#baseOffset + token.offset;
    appendEntry(logprobs, { ...token, offset }, this.#options.vocabulary);
  }

  #newLogprobs(): Logprobs | null {
    return this.#options.request.logprobs === undefined ? null : emptyLogprobs();
  }

  #part(text: string, logprobs: Logprobs | null, finishReason: FinishReason | null): Choice {
    return { text, index: this.#options.index, logprobs, finish_reason: finishReason };
  }
}
