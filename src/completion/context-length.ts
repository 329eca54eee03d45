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
    requested: promptTokens + maxTokens,
    prompt: promptTokens,
    completion: maxTokens,
  });
}
