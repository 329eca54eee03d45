/** The OpenAPI 3.1 document of the server, made from the schemas that check requests. */
import { z } from "zod";
import type { Limits } from "./limits.ts";
import { completionRequestSchema } from "./request-schema.ts";
import { completionChunkSchema, completionResponseSchema, errorSchema } from "./response-schema.ts";
import { detokenizeRequestSchema, modelSchema, tokenizeRequestSchema } from "./side-schemas.ts";

export interface OpenApiOptions {
  readonly limits: Limits;
  /** The version of this program. */
  readonly version: string;
  /** Where the routes begin, "" for the root. */
  readonly basePath: string;
}

type Json = Readonly<Record<string, unknown>>;

/** A JSON value, ready to be sent. */
export function openApiDocument(options: OpenApiOptions): Json {
  return {
    openapi: "3.1.0",
    info: {
      title: "completionist",
      description: "The complete Completions API, on your own models.",
      version: options.version,
    },
    servers: [{ url: options.basePath === "" ? "/" : options.basePath }],
    security: [{ bearer: [] }, {}],
    paths: paths(),
    components: {
      securitySchemes: { bearer: { type: "http", scheme: "bearer" } },
      schemas: {
        CreateCompletionRequest: describe(completionRequestSchema(options.limits)),
        CreateCompletionResponse: describe(completionResponseSchema),
        CompletionChunk: describe(completionChunkSchema),
        Model: describe(modelSchema),
        ListModelsResponse: describe(
          z.object({ object: z.literal("list"), data: z.array(modelSchema) }),
        ),
        TokenizeRequest: describe(tokenizeRequestSchema),
        DetokenizeRequest: describe(detokenizeRequestSchema),
        ErrorResponse: describe(errorSchema),
      },
    },
  };
}

function describe(schema: z.ZodType): Json {
  const { $schema: _, ...document } = z.toJSONSchema(schema, { io: "input" });
  return document;
}

const reference = (name: string): Json => ({ $ref: `#/components/schemas/${name}` });
const jsonContent = (schema: Json): Json => ({ "application/json": { schema } });

const errors: Json = {
  default: {
    description: "An error; docs/reference/errors.md lists them.",
    content: jsonContent(reference("ErrorResponse")),
  },
};

function operation(id: string, summary: string, parts: { request?: Json; response: Json }): Json {
  const body =
    parts.request === undefined
      ? {}
      : { requestBody: { required: true, content: jsonContent(parts.request) } };
  const responses = { 200: { description: "OK", content: jsonContent(parts.response) }, ...errors };
  return { operationId: id, summary, ...body, responses };
}

const completionOperation = (id: string): Json => ({
  operationId: id,
  summary: "Complete one or several prompts",
  requestBody: { required: true, content: jsonContent(reference("CreateCompletionRequest")) },
  responses: {
    200: {
      description: "A response, or with stream: true server-sent events that end with [DONE].",
      content: {
        ...jsonContent(reference("CreateCompletionResponse")),
        "text/event-stream": { schema: reference("CompletionChunk") },
      },
    },
    ...errors,
  },
});

const idParameter: Json = {
  parameters: [{ name: "id", in: "path", required: true, schema: { type: "string" } }],
};

const anyObject: Json = { type: "object" };

function paths(): Json {
  return {
    "/v1/completions": { post: completionOperation("createCompletion") },
    "/v1/engines/{id}/completions": {
      ...idParameter,
      post: completionOperation("createEngineCompletion"),
    },
    "/v1/models": {
      get: operation("listModels", "The models that can be named", {
        response: reference("ListModelsResponse"),
      }),
    },
    "/v1/models/{id}": {
      ...idParameter,
      get: operation("retrieveModel", "One model", { response: reference("Model") }),
    },
    "/v1/engines": {
      get: operation("listEngines", "The models under their former name", {
        response: anyObject,
      }),
    },
    "/v1/tokenize": {
      post: operation("tokenize", "Text to token ids", {
        request: reference("TokenizeRequest"),
        response: anyObject,
      }),
    },
    "/v1/detokenize": {
      post: operation("detokenize", "Token ids to text", {
        request: reference("DetokenizeRequest"),
        response: anyObject,
      }),
    },
    "/v1/tokenizer_info": {
      get: operation("tokenizerInfo", "Special tokens and the chat template", {
        response: anyObject,
      }),
    },
    "/v1/usage": {
      get: {
        ...operation("usage", "What the key has used", { response: anyObject }),
        parameters: ["by", "from", "until"].map((name) => ({
          ...{ name, in: "query", required: false, schema: { type: "string" } },
        })),
      },
    },
    "/health/live": {
      get: operation("live", "Whether the process answers", { response: anyObject }),
    },
    "/health/ready": {
      get: operation("ready", "Whether requests can be answered", { response: anyObject }),
    },
    "/health": {
      get: operation("health", "Whether the engine can answer", { response: anyObject }),
    },
  };
}
