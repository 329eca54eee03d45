/// <reference lib="esnext.disposable" preserve="true" />
/**
 * The library: completions from a model in this program (`open`), or from a server (`connect`), by
 * the same calls.
 */

export { ConfigurationError } from "./config/configuration-error.ts";
export type { RetryAdvice } from "./contract/errors.ts";
export { ApiError } from "./contract/errors.ts";
export type {
  CallOptions,
  CompletionClient,
  DetokenizeOptions,
  ScoreOptions,
  TokenizeOptions,
} from "./library/client.ts";
export { ClientClosedError } from "./library/client.ts";
export { type ConnectOptions, connect } from "./library/connect.ts";
export { ConnectionError, type ConnectionProblem } from "./library/connection-error.ts";
export {
  type EngineHealth,
  type OpenedModelClient,
  type OpenOptions,
  open,
} from "./library/open.ts";
export { RemoteApiError } from "./library/remote-error.ts";
export type {
  CompletionExtensions,
  CompletionParameters,
  CreateCompletionRequest,
  CreateParameters,
  Prompt,
  Stop,
  StreamOptions,
  StreamParameters,
} from "./library/request-types.ts";
export type {
  CompletionChoice,
  CompletionChunk,
  CompletionLogprobs,
  CompletionResponse,
  CompletionUsage,
  FinishReason,
} from "./library/response-types.ts";
export type { TextScore, TokenScore } from "./library/text-score.ts";
export { ModelFileError } from "./llama/model-file-error.ts";
export { EngineStartError } from "./models/engine-start-error.ts";
export { FetchError } from "./models/fetch-error.ts";
