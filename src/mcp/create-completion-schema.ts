/**
 * The input schema of the completion tool, published exactly as it stands here and enforced with
 * the same words. Its shape is OpenAI's request under `body`, without streaming; it is draft-07
 * JSON Schema, whose `definitions` hosts know.
 */
import type { JsonObject } from "./json.ts";

const nullable = (type: string): readonly string[] => [type, "null"];

const tokenIds: JsonObject = { type: "array", minItems: 1, items: { type: "integer" } };

const model: JsonObject = {
  description: "Which model answers; the tool list_models names them.",
  anyOf: [
    { type: "string" },
    { type: "string", enum: ["gpt-3.5-turbo-instruct", "davinci-002", "babbage-002"] },
  ],
};

const prompt: JsonObject = {
  description:
    "The text to go on from: a text, several texts, the token ids of a text, or those of several. " +
    "<|endoftext|>, like null, stands for the start of a new document.",
  default: "<|endoftext|>",
  oneOf: [
    { type: "string", default: "", examples: ["This is a test."] },
    {
      type: "array",
      items: { type: "string", default: "", examples: ["This is a test."] },
    },
    { ...tokenIds, examples: ["[1212, 318, 257, 1332, 13]"] },
    {
      type: "array",
      minItems: 1,
      items: tokenIds,
      examples: ["[[1212, 318, 257, 1332, 13]]"],
    },
    { type: "null" },
  ],
};

const choices: JsonObject = {
  best_of: {
    type: nullable("integer"),
    default: 1,
    minimum: 0,
    maximum: 20,
    description:
      "Draw this many candidates for each prompt and return the n whose tokens are likeliest on " +
      "average. At least n; 0 means n. Every candidate costs its tokens.",
  },
  n: {
    type: nullable("integer"),
    minimum: 1,
    maximum: 128,
    default: 1,
    description: "How many completions to return for each prompt.",
    examples: [1],
  },
  echo: {
    type: nullable("boolean"),
    default: false,
    description: "Put the prompt in front of the returned text.",
  },
  logprobs: {
    type: nullable("integer"),
    minimum: 0,
    maximum: 5,
    description:
      "Return the natural logarithm of every token's probability, and those of this many " +
      "alternatives at each position.",
  },
};

const sampling: JsonObject = {
  frequency_penalty: {
    type: nullable("number"),
    default: 0,
    minimum: -2,
    maximum: 2,
    description: "Makes a token less likely each time it was generated; negative: more likely.",
  },
  presence_penalty: {
    type: nullable("number"),
    default: 0,
    minimum: -2,
    maximum: 2,
    description: "Makes a token less likely once it was generated; negative: more likely.",
  },
  logit_bias: {
    type: nullable("object"),
    additionalProperties: { type: "integer" },
    description:
      "Token ids (of the model's own vocabulary) with a number from -100 to 100 that is added to " +
      "their logit: -100 bans a token, 100 leaves no other.",
  },
  seed: {
    type: nullable("integer"),
    description: "The same seed with the same request draws the same tokens.",
  },
  temperature: {
    type: nullable("number"),
    minimum: 0,
    maximum: 2,
    default: 1,
    description: "0 always takes the likeliest token; higher values draw more widely.",
    examples: [1],
  },
  top_p: {
    type: nullable("number"),
    minimum: 0,
    maximum: 1,
    default: 1,
    description: "Draw only from the likeliest tokens that together have this probability.",
    examples: [1],
  },
};

const extent: JsonObject = {
  max_tokens: {
    type: nullable("integer"),
    minimum: 0,
    default: 16,
    description: "Most tokens to generate. Prompt and completion together must fit the context.",
    examples: [16],
  },
  stop: { $ref: "#/definitions/StopConfiguration" },
  suffix: {
    type: nullable("string"),
    description: "The text that follows: the completion is inserted between prompt and suffix.",
    examples: ["test."],
  },
};

const delivery: JsonObject = {
  stream: {
    description: "A tool call has one answer, so nothing is streamed: false or left out.",
    type: nullable("boolean"),
    default: false,
    enum: [false, null],
  },
  stream_options: { $ref: "#/definitions/ChatCompletionStreamOptions" },
  user: {
    type: "string",
    description: "A name for the person on whose behalf the call is made.",
    examples: ["user-1234"],
  },
};

const stopConfiguration: JsonObject = {
  description: "Up to 4 texts that end a completion. They are no part of the returned text.",
  oneOf: [
    { type: "string", default: "<|endoftext|>", examples: ["\n"] },
    {
      type: "array",
      minItems: 1,
      maxItems: 4,
      items: { type: "string", examples: ['["\\n"]'] },
    },
    { type: "null" },
  ],
};

const streamOptions: JsonObject = {
  anyOf: [
    {
      description: "Speaks of streams only, so it changes nothing here.",
      type: "object",
      properties: {
        include_usage: {
          type: "boolean",
          description: "End a stream with the count of its tokens.",
        },
        include_obfuscation: {
          type: "boolean",
          description: "Pad the parts of a stream so that their sizes tell less.",
        },
      },
    },
    { type: "null" },
  ],
};

export const createCompletionInput: JsonObject = {
  type: "object",
  description: "One request for completions. The answer is the whole completion object.",
  properties: { body: { $ref: "#/definitions/CreateCompletionRequest" } },
  required: ["body"],
  additionalProperties: false,
  definitions: {
    CreateCompletionRequest: {
      type: "object",
      properties: { model, prompt, ...choices, ...sampling, ...extent, ...delivery },
      required: ["model", "prompt"],
    },
    StopConfiguration: stopConfiguration,
    ChatCompletionStreamOptions: streamOptions,
  },
};

/** A request that works on every server of this tool. */
export const createCompletionExample: JsonObject = {
  body: { model: "example", prompt: "<|endoftext|>" },
};
