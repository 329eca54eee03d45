/** Parts of choices become whole choices: the answer that is not streamed. */
import type { CompletionPart } from "../completion/completion-run.ts";
import { ApiError } from "../contract/errors.ts";
import type { Choice, Logprobs, Usage } from "../contract/responses.ts";

export interface FoldedCompletion {
  /** Sorted by index. */
  readonly choices: Choice[];
  readonly usage: Usage;
}

/**
 * Reads a run to its end. Fails as the run fails, or when it ends without its usage. `onPart` sees
 * each part when it comes.
 */
export async function foldParts(
  parts: AsyncIterable<CompletionPart>,
  onPart?: (part: CompletionPart) => void,
): Promise<FoldedCompletion> {
  const choices = new Map<number, FoldingChoice>();
  let usage: Usage | undefined;
  for await (const part of parts) {
    onPart?.(part);
    if (part.kind === "usage") usage = part.usage;
    if (part.kind !== "choice") continue;
    const { index } = part.choice;
    const known = choices.get(index) ?? new FoldingChoice(index);
    known.add(part.choice);
    choices.set(index, known);
  }
  if (usage === undefined) throw endedEarly();
  const sorted = [...choices.values()].sort((a, b) => a.index - b.index);
  return { choices: sorted.map((choice) => choice.whole()), usage };
}

/** The last part of a run is its usage: without it, something is missing. */
export const endedEarly = (): ApiError =>
  new ApiError("server", {}, { cause: new Error("a completion ended without its usage") });

class FoldingChoice {
  readonly index: number;
  readonly #texts: string[] = [];
  #logprobs: Logprobs | null = null;
  #finishReason: Choice["finish_reason"] = null;

  constructor(index: number) {
    this.index = index;
  }

  add(part: Choice): void {
    this.#texts.push(part.text);
    if (part.finish_reason !== null) this.#finishReason = part.finish_reason;
    if (part.logprobs === null) return;
    this.#logprobs ??= { tokens: [], token_logprobs: [], top_logprobs: [], text_offset: [] };
    append(this.#logprobs.tokens, part.logprobs.tokens);
    append(this.#logprobs.token_logprobs, part.logprobs.token_logprobs);
    append(this.#logprobs.top_logprobs, part.logprobs.top_logprobs);
    append(this.#logprobs.text_offset, part.logprobs.text_offset);
  }

  whole(): Choice {
    return {
      text: this.#texts.join(""),
      index: this.index,
      logprobs: this.#logprobs,
      finish_reason: this.#finishReason,
    };
  }
}

/** Not `push(...items)`: an echoed prompt may have more entries than a call takes arguments. */
function append<T>(list: T[], items: readonly T[]): void {
  for (const item of items) list.push(item);
}
