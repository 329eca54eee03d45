/**
 * The one table of API errors: status, type, code, param and message. Nothing else in the project
 * writes an error body. `docs/reference/errors.md` is compared with this table in a test.
 *
 * A message is a template: `{name}` is replaced by the detail of that name.
 */

import { type ErrorTemplate, invalid } from "./error-template.ts";
import { fieldErrorRows } from "./field-error-rows.ts";

export type { ErrorTemplate };

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
  ...fieldErrorRows,
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
  requestOverLimit: {
    status: 429,
    type: "{limitType}",
    param: null,
    code: "rate_limit_exceeded",
    message:
      "Request too large for {model} on {limitName}: Limit {limit}, Requested {requested}. The " +
      "input or output tokens must be reduced in order to run successfully.",
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
  deadlineExceeded: {
    status: 504,
    type: "server_error",
    param: null,
    code: "deadline_exceeded",
    message:
      "The request took longer than {seconds} seconds and was ended. Ask for fewer tokens or for " +
      "a longer time.",
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
