/** The check that prompt and completion together fit one sequence. */
import type { CompletionRequest } from "../contract/completion-request.ts";
import { ApiError } from "../contract/errors.ts";
import type { EngineDescription } from "../engine/engine.ts";

/** Throws the context error where they do not fit. */
export function checkContext(
  promptTokens: number,
  request: CompletionRequest,
  description: EngineDescription,
): void {
  const { contextLength } = description;
  const { maxTokens } = request;
  if (promptTokens + maxTokens <= contextLength) return;
  throw contextLengthError({ promptTokens, maxTokens, contextLength });
}

export function contextLengthError(numbers: {
  readonly promptTokens: number;
  readonly maxTokens: number;
  readonly contextLength: number;
}): ApiError {
  const { promptTokens, maxTokens, contextLength } = numbers;
  return new ApiError("contextLength", {
    contextLength,
    // In digits, as clients search the message for numbers: 1e21 would be none.
    requested: String(BigInt(promptTokens) + BigInt(maxTokens)),
    prompt: promptTokens,
    completion: String(BigInt(maxTokens)),
  });
}
