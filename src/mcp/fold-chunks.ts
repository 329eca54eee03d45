/** Chunks of another server's stream become the one answer that it would have sent instead. */
import { isObject, type JsonObject } from "./json.ts";
import { upstreamFailed } from "./tool-error.ts";

interface FoldedChoice {
  readonly index: number;
  text: string;
  finish_reason: unknown;
  logprobs: Record<string, unknown> | null;
}

export class ChunkFolder {
  readonly #choices = new Map<number, FoldedChoice>();
  #head: JsonObject = {};
  #parts = 0;

  /** Parts with text so far: about one a token. */
  get parts(): number {
    return this.#parts;
  }

  add(chunk: JsonObject): void {
    const { choices, ...head } = chunk;
    // The usage is null on all chunks but the last.
    const known = Object.entries(head).filter(([, value]) => value !== null);
    this.#head = { ...this.#head, ...Object.fromEntries(known) };
    for (const choice of Array.isArray(choices) ? choices : []) {
      if (isObject(choice)) this.#addChoice(choice);
    }
  }

  /** Throws a ToolError when the stream ended before its choices did. */
  whole(): JsonObject {
    const choices = [...this.#choices.values()].sort((a, b) => a.index - b.index);
    if (choices.length === 0 || choices.some(({ finish_reason }) => finish_reason === null)) {
      throw upstreamFailed("its stream ended before the completion did");
    }
    const { obfuscation: _, ...head } = this.#head;
    return { ...head, choices };
  }

  #addChoice(choice: JsonObject): void {
    const index = Number(choice.index ?? 0);
    const known = this.#choices.get(index) ?? {
      text: "",
      index,
      logprobs: null,
      finish_reason: null,
    };
    this.#choices.set(index, known);
    if (typeof choice.text === "string" && choice.text !== "") {
      known.text += choice.text;
      this.#parts += 1;
    }
    if (choice.finish_reason) known.finish_reason = choice.finish_reason;
    if (isObject(choice.logprobs)) {
      known.logprobs = joinArrays(known.logprobs, choice.logprobs);
    }
  }
}

/** Arrays of the same name one behind the other; another value only where there is none yet. */
function joinArrays(
  known: Record<string, unknown> | null,
  added: JsonObject,
): Record<string, unknown> {
  const joined = known ?? {};
  for (const [name, value] of Object.entries(added)) {
    const before = joined[name];
    if (!Array.isArray(value)) joined[name] = before ?? value;
    else if (Array.isArray(before)) for (const entry of value) before.push(entry);
    else joined[name] = [...value];
  }
  return joined;
}
