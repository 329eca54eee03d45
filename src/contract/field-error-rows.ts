/** The rows of the error table that speak of fields of a request. */
import { type ErrorTemplate, invalid } from "./error-template.ts";

export const fieldErrorRows = {
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
} as const satisfies Record<string, ErrorTemplate>;
