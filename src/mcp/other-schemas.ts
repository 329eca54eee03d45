/** What the tools give back, and what the tools beside the completion take. */
import type { JsonObject } from "./json.ts";

const count: JsonObject = { type: "integer", minimum: 0 };
const text: JsonObject = { type: "string" };
const numberOrNull: JsonObject = { type: ["number", "null"] };

const object = (properties: JsonObject, required: readonly string[]): JsonObject => ({
  type: "object",
  properties,
  required,
});

const list = (items: JsonObject): JsonObject => ({ type: "array", items });

const logprobs: JsonObject = {
  type: ["object", "null"],
  properties: {
    tokens: list(text),
    token_logprobs: list(numberOrNull),
    top_logprobs: {
      type: ["array", "null"],
      items: { type: ["object", "null"], additionalProperties: { type: "number" } },
    },
    text_offset: {
      ...list(count),
      description: "Characters (code points) from the start of the prompt to each token.",
    },
  },
};

/** Servers behind --base-url leave out or add a good deal, so little is required. */
export const createCompletionOutput: JsonObject = object(
  {
    id: text,
    object: { type: "string", enum: ["text_completion"] },
    created: { ...count, description: "Unix time in seconds." },
    model: text,
    choices: list(
      object(
        {
          text,
          index: count,
          logprobs,
          finish_reason: {
            type: ["string", "null"],
            description: "stop: a stop text or the model's own end. length: max_tokens.",
          },
        },
        ["text", "index"],
      ),
    ),
    usage: {
      type: ["object", "null"],
      properties: { prompt_tokens: count, completion_tokens: count, total_tokens: count },
    },
    system_fingerprint: { type: ["string", "null"] },
  },
  ["choices"],
);

export const scoreInput: JsonObject = {
  ...object(
    {
      input: {
        description: "The text to score, or its token ids.",
        oneOf: [
          { type: "string", minLength: 1 },
          { type: "array", minItems: 1, items: { type: "integer" } },
        ],
      },
      model: { type: "string", description: "Which model scores; the default model if left out." },
      top_logprobs: {
        type: "integer",
        minimum: 0,
        maximum: 5,
        default: 0,
        description: "How many of the likeliest tokens to list at each position.",
      },
    },
    ["input"],
  ),
  additionalProperties: false,
};

export const scoreOutput: JsonObject = object(
  {
    model: text,
    tokens: list(
      object(
        {
          token: text,
          logprob: {
            ...numberOrNull,
            description: "Natural logarithm; null for a first token, which nothing precedes.",
          },
          offset: { ...count, description: "Characters (code points) in front of the token." },
          top_logprobs: {
            type: ["object", "null"],
            additionalProperties: { type: "number" },
            description: "Only when asked for: the token itself and the likeliest ones.",
          },
        },
        ["token", "logprob", "offset"],
      ),
    ),
    scored_tokens: { ...count, description: "Tokens that have a logprob." },
    sum_logprob: { type: "number" },
    mean_logprob: { ...numberOrNull, description: "null when no token has a logprob." },
    perplexity: { ...numberOrNull, description: "exp(-mean); null when it is no number." },
  },
  ["model", "tokens", "scored_tokens", "sum_logprob", "mean_logprob", "perplexity"],
);

export const listModelsInput: JsonObject = {
  type: "object",
  properties: {},
  additionalProperties: false,
};

export const listModelsOutput: JsonObject = object(
  {
    object: { type: "string", enum: ["list"] },
    data: list(
      object(
        {
          id: { ...text, description: "The name to give as model." },
          max_model_len: { ...count, description: "Tokens of prompt and completion together." },
        },
        ["id"],
      ),
    ),
  },
  ["object", "data"],
);
