/** A JSON body becomes a CompletionRequest here: the one place where a request is still unknown. */
import type { CompletionRequest, StreamOptions } from "./completion-request.ts";
import { ApiError } from "./errors.ts";
import { fieldError, typeError } from "./field-errors.ts";
import type { Limits } from "./limits.ts";
import { parseLogitBias } from "./parse-logit-bias.ts";
import { parsePrompts } from "./parse-prompt.ts";
import {
  completionRequestSchema,
  type RequestFields,
  streamOptionNames,
} from "./request-schema.ts";
import { describeType, shorten } from "./shorten.ts";

export interface ParseOptions {
  readonly limits: Limits;
  /** Refuse unknown fields, and `stream_options` without `stream`. */
  readonly strict: boolean;
}

type JsonObject = Readonly<Record<string, unknown>>;

/** Unknown fields that an error message names. */
const namedFieldsMax = 20;

/**
 * The model a body names, before anything else about it is checked. Null and "" count as absent.
 * Throws an ApiError when the body is no object or the name no string.
 */
export function readModelName(body: unknown): string | undefined {
  const { model } = requireObject(body);
  if (model === undefined || model === null || model === "") return undefined;
  if (typeof model !== "string") throw typeError("model", "a string", model);
  return model;
}

/** The typed request with every default filled and every range checked. Throws an ApiError. */
export function parseCompletionRequest(body: unknown, options: ParseOptions): CompletionRequest {
  const { limits, strict } = options;
  const object = requireObject(body);
  const model = readModelName(object);
  const schema = completionRequestSchema(limits);
  const unknown = unknownFields(object, new Set(Object.keys(schema.shape)));
  if (strict && unknown.length > 0) throw unrecognized(unknown);
  const parsed = schema.safeParse(object);
  const issue = parsed.error?.issues[0];
  if (issue !== undefined) throw fieldError(issue, object, limits);
  // Without an issue there is data.
  const fields = parsed.data as RequestFields;
  const request: CompletionRequest = {
    model,
    prompts: parsePrompts(fields.prompt),
    suffix: fields.suffix === "" ? undefined : fields.suffix,
    maxTokens: fields.max_tokens,
    n: fields.n,
    bestOf: fields.best_of || fields.n,
    echo: fields.echo,
    logprobs: fields.logprobs,
    temperature: fields.temperature,
    topP: fields.top_p,
    frequencyPenalty: fields.frequency_penalty,
    presencePenalty: fields.presence_penalty,
    logitBias: parseLogitBias(fields.logit_bias, limits),
    seed: fields.seed === undefined || fields.seed < 0 ? undefined : fields.seed,
    stop: fields.stop,
    stream: fields.stream,
    streamOptions: streamOptions(fields, strict),
    user: fields.user,
    extensions: extensions(fields),
    ignoredParameters: unknown,
  };
  checkTogether(request, limits);
  return request;
}

/** The body as an object. Throws an ApiError for every other JSON value. */
export function requireObject(body: unknown): JsonObject {
  if (typeof body === "object" && body !== null && !Array.isArray(body)) return body as JsonObject;
  throw new ApiError("bodyNotObject", { received: describeType(body) });
}

/** Names that no schema knows, except those whose value is null. */
function unknownFields(body: JsonObject, known: ReadonlySet<string>): readonly string[] {
  const names = Object.keys(body).filter((name) => !known.has(name) && body[name] !== null);
  const options = body.stream_options;
  if (typeof options !== "object" || options === null || Array.isArray(options)) return names;
  const inner = Object.entries(options)
    .filter(([name, value]) => !streamOptionNames.has(name) && value !== null)
    .map(([name]) => `stream_options.${name}`);
  return [...names, ...inner];
}

function unrecognized(names: readonly string[]): ApiError {
  const shown = names.slice(0, namedFieldsMax).map(shorten).join(", ");
  return new ApiError("unrecognizedArgument", {
    plural: names.length > 1 ? "s" : "",
    names: names.length > namedFieldsMax ? `${shown}, ...` : shown,
  });
}

function streamOptions(fields: RequestFields, strict: boolean): StreamOptions {
  const given = fields.stream_options;
  if (given !== undefined && !fields.stream && strict) {
    throw new ApiError("streamOptionsWithoutStream");
  }
  const used = fields.stream ? given : undefined;
  return {
    includeUsage: used?.include_usage ?? false,
    includeObfuscation: used?.include_obfuscation ?? false,
    continuousUsageStats: used?.continuous_usage_stats ?? false,
  };
}

function extensions(fields: RequestFields): CompletionRequest["extensions"] {
  return {
    topK: fields.top_k,
    minP: fields.min_p,
    repetitionPenalty: fields.repetition_penalty,
    ignoreEos: fields.ignore_eos,
    minTokens: fields.min_tokens,
    stopTokenIds: [...new Set(fields.stop_token_ids)],
    includeStopStringInOutput: fields.include_stop_str_in_output,
    skipSpecialTokens: fields.skip_special_tokens,
  };
}

/** Rules about fields that are right alone and wrong together. */
function checkTogether(request: CompletionRequest, limits: Limits): void {
  const { n, bestOf, prompts, extensions } = request;
  if (bestOf < n) throw new ApiError("bestOfBelowN", { n, bestOf });
  if (bestOf > n && request.stream) throw new ApiError("bestOfStream", { n, bestOf });
  const total = prompts.length * bestOf;
  if (total > limits.candidatesMax) {
    throw new ApiError("tooManyCandidates", {
      prompts: prompts.length,
      candidates: bestOf,
      total,
      limit: limits.candidatesMax,
    });
  }
  if (extensions.minTokens > request.maxTokens) {
    throw new ApiError("integerAboveMax", {
      param: "min_tokens",
      limit: request.maxTokens,
      received: extensions.minTokens,
      hint: " (HINT: 'min_tokens' must not exceed 'max_tokens'.)",
    });
  }
  if (request.echo && request.suffix !== undefined && request.logprobs !== undefined) {
    throw new ApiError("suffixEchoLogprobs");
  }
}
