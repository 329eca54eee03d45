/**
 * The four forms of `prompt`, told apart by the first element. Each element is looked at once, so
 * a prompt of 200,000 ids costs a walk over the array and nothing more.
 */
import type { Prompt } from "./completion-request.ts";
import { ApiError } from "./errors.ts";
import { typeError } from "./field-errors.ts";

/** Stands for the start of a document on every model, whatever its vocabulary calls that token. */
const documentStartText = "<|endoftext|>";

const forms = "a string, an array of strings, an array of integers or an array of such arrays";

/** At least one prompt. Throws an ApiError with the index of the element that is wrong. */
export function parsePrompts(value: unknown): readonly Prompt[] {
  if (value === undefined || value === null) return [textPrompt("")];
  if (typeof value === "string") return [textPrompt(value)];
  if (!Array.isArray(value)) throw typeError("prompt", forms, value);
  const items: readonly unknown[] = value;
  const first = items[0];
  if (items.length === 0) throw new ApiError("emptyArray", { param: "prompt" });
  if (typeof first === "string") return items.map(textItem);
  if (typeof first === "number") return [tokenPrompt("prompt", items)];
  if (Array.isArray(first)) return items.map(tokensItem);
  throw typeError("prompt[0]", "a string, an integer or an array of integers", first);
}

function textPrompt(text: string): Prompt {
  if (text === "" || text === documentStartText) return { kind: "documentStart", text };
  // JSON can carry half a surrogate pair, which no tokenizer could read.
  return { kind: "text", text: text.toWellFormed() };
}

function textItem(item: unknown, index: number): Prompt {
  if (typeof item !== "string") throw typeError(`prompt[${index}]`, "a string", item);
  return textPrompt(item);
}

function tokensItem(item: unknown, index: number): Prompt {
  const param = `prompt[${index}]`;
  if (!Array.isArray(item)) throw typeError(param, "an array of integers", item);
  if (item.length === 0) throw new ApiError("emptyArray", { param });
  return tokenPrompt(param, item);
}

function tokenPrompt(param: string, items: readonly unknown[]): Prompt {
  for (const [index, item] of items.entries()) {
    if (typeof item !== "number" || !Number.isInteger(item)) {
      throw typeError(`${param}[${index}]`, "an integer", item);
    }
  }
  return { kind: "tokens", tokens: items as readonly number[] };
}
