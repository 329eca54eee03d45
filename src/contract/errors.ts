/**
 * The one table of API errors: status, type, code, param and message. Nothing else in the project
 * writes an error body. `docs/reference/errors.md` is compared with this table in a test.
 *
 * A message is a template: `{name}` is replaced by the detail of that name.
 */
import type { ErrorBody } from "./responses.ts";

export interface ErrorTemplate {
  readonly status: number;
  readonly type: string;
  /** A fixed field name, "{param}" when the detail `param` names it, or null. */
  readonly param: string | null;
  readonly code: string | null;
  readonly message: string;
}

const invalid = (
  status: number,
  param: string | null,
  code: string | null,
  message: string,
): ErrorTemplate => ({ status, type: "invalid_request_error", param, code, message });

export const errorTable = {
  // Authentication
  missingKey: invalid(
    401,
    null,
    null,
    "You didn't provide an API key. You need to provide your API key in an Authorization header " +
      "using Bearer auth (i.e. Authorization: Bearer YOUR_KEY).",
  ),
  wrongKey: invalid(
    401,
    null,
    "invalid_api_key",
    "Incorrect API key provided: {maskedKey}. Ask whoever runs this server for a valid key.",
  ),
  forbiddenHost: invalid(
    403,
    null,
    "forbidden_host",
    "This server does not answer to the host name '{host}'. Without API keys it answers only to " +
      "loopback names; start it with --allowed-host to add one.",
  ),
  forbiddenOrigin: invalid(
    403,
    null,
    "forbidden_origin",
    "This server does not answer to pages from '{origin}'. Start it with --cors to allow it.",
  ),
  // Route and transport
  unknownUrl: invalid(404, null, "unknown_url", "Invalid URL ({method} {path})"),
  methodNotAllowed: invalid(
    405,
    null,
    null,
    "Not allowed to {method} on {path}. (HINT: Perhaps you meant to use a different HTTP method?)",
  ),
  unsupportedMediaType: invalid(
    415,
    null,
    "unsupported_media_type",
    "Unsupported content type: '{contentType}'. Send the request body as application/json.",
  ),
  badJson: invalid(
    400,
    null,
    null,
    "We could not parse the JSON body of your request. (HINT: This likely means you aren't using " +
      "your HTTP library correctly. The OpenAI API expects a JSON payload, but what was sent was " +
      "not valid JSON.)",
  ),
  requestTooLarge: invalid(
    413,
    null,
    "request_too_large",
    "The request body is too large: this server accepts up to {bytesMax} bytes.",
  ),
  badRequest: invalid(400, null, null, "The HTTP request could not be understood: {reason}."),
  bodyNotObject: invalid(
    400,
    null,
    null,
    "The JSON body of your request must be an object, but got {received} instead.",
  ),
  headersTooLarge: invalid(
    431,
    null,
    "request_headers_too_large",
    "The header of the request is too large.",
  ),
  chatUnsupported: invalid(
    404,
    null,
    "unknown_url",
    "This server serves completion models, which are not supported in the v1/chat/completions " +
      "endpoint. Did you mean to use v1/completions?",
  ),
  requestTimeout: invalid(408, null, "request_timeout", "The request body did not arrive in time."),
  // Models
  missingModel: invalid(400, null, null, "you must provide a model parameter"),
  modelNotFound: invalid(
    404,
    null,
    "model_not_found",
    "The model `{model}` does not exist or you do not have access to it.",
  ),
  chatModel: invalid(
    404,
    "model",
    null,
    "This is a chat model and not supported in the v1/completions endpoint. Did you mean to use " +
      "v1/chat/completions?",
  ),
  // Fields
  invalidType: invalid(
    400,
    "{param}",
    "invalid_type",
    "Invalid type for '{param}': expected {expected}, but got {received} instead.",
  ),
  invalidValue: invalid(400, "{param}", "invalid_value", "Invalid '{param}': {reason}."),
  integerBelowMin: invalid(
    400,
    "{param}",
    "integer_below_min_value",
    "Invalid '{param}': integer below minimum value. Expected a value >= {limit}, but got " +
      "{received} instead.",
  ),
  integerAboveMax: invalid(
    400,
    "{param}",
    "integer_above_max_value",
    "Invalid '{param}': integer above maximum value. Expected a value <= {limit}, but got " +
      "{received} instead.{hint}",
  ),
  decimalBelowMin: invalid(
    400,
    "{param}",
    "decimal_below_min_value",
    "Invalid '{param}': decimal below minimum value. Expected a value >= {limit}, but got " +
      "{received} instead.",
  ),
  decimalNotAboveMin: invalid(
    400,
    "{param}",
    "decimal_below_min_value",
    "Invalid '{param}': decimal below minimum value. Expected a value > {limit}, but got " +
      "{received} instead.",
  ),
  decimalAboveMax: invalid(
    400,
    "{param}",
    "decimal_above_max_value",
    "Invalid '{param}': decimal above maximum value. Expected a value <= {limit}, but got " +
      "{received} instead.",
  ),
  emptyArray: invalid(
    400,
    "{param}",
    "empty_array",
    "Invalid '{param}': empty array. Expected an array with minimum length 1, but got an empty " +
      "array instead.",
  ),
  arrayAboveMaxLength: invalid(
    400,
    "{param}",
    "array_above_max_length",
    "Invalid '{param}': array too long. Expected an array with maximum length {limit}, but got " +
      "an array with length {received} instead.{hint}",
  ),
  objectAboveMaxProperties: invalid(
    400,
    "{param}",
    "object_above_max_properties",
    "Invalid '{param}': too many properties. Expected an object with at most {limit} properties, " +
      "but got an object with {received} properties instead.",
  ),
  missingParameter: invalid(
    400,
    "{param}",
    "missing_required_parameter",
    "Missing required parameter: '{param}'.",
  ),
  unrecognizedArgument: invalid(
    400,
    null,
    null,
    "Unrecognized request argument{plural} supplied: {names}",
  ),
  invalidToken: invalid(
    400,
    null,
    null,
    "Invalid token in prompt: {token}. Minimum value is 0, maximum value is {max} (inclusive).",
  ),
  negativeToken: invalid(400, null, null, "Invalid token in prompt: {token}. Minimum value is 0."),
  invalidLogitBiasKey: invalid(
    400,
    "logit_bias",
    null,
    "Invalid key in 'logit_bias': {key}. You should only be submitting non-negative integers.",
  ),
  bestOfBelowN: invalid(
    400,
    "best_of",
    null,
    "You requested that the server return more choices than it will generate (HINT: you must set " +
      "'n' (currently {n}) to be at most 'best_of' (currently {bestOf}), or omit either parameter " +
      "if you don't specifically want to use them.)",
  ),
  bestOfStream: invalid(
    400,
    "best_of",
    "invalid_value",
    "Results of 'best_of' cannot be streamed: 'best_of' (currently {bestOf}) must not exceed 'n' " +
      "(currently {n}) when 'stream' is true.",
  ),
  tooManyCandidates: invalid(
    400,
    "prompt",
    "invalid_value",
    "Too many candidates: {prompts} prompts with {candidates} candidates each make {total}, and " +
      "one request may ask for at most {limit}.",
  ),
  streamOptionsWithoutStream: invalid(
    400,
    "stream_options",
    "invalid_value",
    "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
  ),
  unsupportedParameter: invalid(
    400,
    "{param}",
    "unsupported_parameter",
    "This server does not support the '{param}' parameter yet.",
  ),
  suffixUnsupported: invalid(
    400,
    "suffix",
    "unsupported_parameter",
    "This model does not support the 'suffix' parameter.",
  ),
  suffixEchoLogprobs: invalid(
    400,
    "suffix",
    "unsupported_parameter",
    "Setting 'echo', 'logprobs' and 'suffix' at the same time is not supported: the context that " +
      "is evaluated is not the prompt that would be echoed.",
  ),
  contextLength: invalid(
    400,
    null,
    "context_length_exceeded",
    "This model's maximum context length is {contextLength} tokens, however you requested " +
      "{requested} tokens ({prompt} in your prompt; {completion} for the completion). Please " +
      "reduce your prompt; or completion length.",
  ),
  // Capacity and faults
  rateLimit: {
    status: 429,
    type: "{limitType}",
    param: null,
    code: "rate_limit_exceeded",
    message:
      "Rate limit reached for {model} on {limitName}: Limit {limit}, Used {used}, Requested " +
      "{requested}. Please try again in {delay}.",
  },
  quota: {
    status: 429,
    type: "insufficient_quota",
    param: null,
    code: "insufficient_quota",
    message: "You exceeded your current quota, please check your plan and billing details.",
  },
  overloaded: {
    status: 503,
    type: "server_error",
    param: null,
    code: null,
    message: "The engine is currently overloaded, please try again later",
  },
  shuttingDown: {
    status: 503,
    type: "server_error",
    param: null,
    code: "server_shutting_down",
    message: "The server is shutting down. Please retry your request.",
  },
  modelFailed: {
    status: 503,
    type: "server_error",
    param: null,
    code: "model_unavailable",
    message: "The model could not be loaded: {reason}.",
  },
  server: {
    status: 500,
    type: "server_error",
    param: null,
    code: null,
    message:
      "The server had an error processing your request. Sorry about that! You can retry your " +
      "request, or tell whoever runs this server if you keep seeing this error.",
  },
} as const satisfies Record<string, ErrorTemplate>;

export type ErrorName = keyof typeof errorTable;
export type ErrorDetails = Readonly<Record<string, string | number>>;

/** Headers that tell a client whether and when to try again. */
export interface RetryAdvice {
  readonly shouldRetry?: boolean;
  readonly retryAfterMs?: number;
}

/** An error that has a place in the API: thrown anywhere, written by http/ alone. */
export class ApiError extends Error {
  readonly errorName: ErrorName;
  readonly status: number;
  readonly type: string;
  readonly param: string | null;
  readonly code: string | null;
  readonly retry: RetryAdvice;

  constructor(
    name: ErrorName,
    details: ErrorDetails = {},
    options: { retry?: RetryAdvice; cause?: unknown } = {},
  ) {
    const template: ErrorTemplate = errorTable[name];
    super(fill(template.message, details), { cause: options.cause });
    this.name = "ApiError";
    this.errorName = name;
    this.status = template.status;
    this.type = fill(template.type, details);
    this.param = template.param === null ? null : fill(template.param, details);
    this.code = template.code;
    this.retry = options.retry ?? {};
  }

  body(): ErrorBody {
    const { message, type, param, code } = this;
    return { error: { message, type, param, code } };
  }
}

function fill(template: string, details: ErrorDetails): string {
  return template.replaceAll(/\{(\w+)\}/g, (_, key: string) => String(details[key] ?? ""));
}
