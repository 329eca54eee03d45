/** What an agent host learns about the tools, above all the input schema of the completion. */
import type { Tool } from "@modelcontextprotocol/sdk/types.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type AgentHost, completionTool, engineOptions, startHost } from "./support/agent-host.ts";

let host: AgentHost;
let tools: readonly Tool[];

beforeAll(async () => {
  host = await startHost(engineOptions());
  tools = (await host.client.listTools()).tools;
});

afterAll(() => host?.close());

const toolNamed = (name: string): Tool => {
  const tool = tools.find((each) => each.name === name);
  if (tool === undefined) throw new Error(`there is no tool ${name}`);
  return tool;
};

/** A schema without the words for people: what is left decides what is accepted. */
function bare(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(bare);
  if (typeof value !== "object" || value === null) return value;
  const kept = Object.entries(value).filter(
    ([name, inner]) =>
      name !== "examples" && !(name === "description" && typeof inner === "string"),
  );
  return Object.fromEntries(kept.map(([name, inner]) => [name, bare(inner)]));
}

const integer = { type: ["integer", "null"] };
const decimal = { type: ["number", "null"] };
const boolean = { type: ["boolean", "null"], default: false };
const tokens = { type: "array", minItems: 1, items: { type: "integer" } };

/** Every field of the request, with its types, range, null, default and choices. */
const fields = {
  model: {
    anyOf: [
      { type: "string" },
      { type: "string", enum: ["gpt-3.5-turbo-instruct", "davinci-002", "babbage-002"] },
    ],
  },
  prompt: {
    default: "<|endoftext|>",
    oneOf: [
      { type: "string", default: "" },
      { type: "array", items: { type: "string", default: "" } },
      tokens,
      { type: "array", minItems: 1, items: tokens },
      { type: "null" },
    ],
  },
  best_of: { ...integer, default: 1, minimum: 0, maximum: 20 },
  echo: boolean,
  frequency_penalty: { ...decimal, default: 0, minimum: -2, maximum: 2 },
  logit_bias: { type: ["object", "null"], additionalProperties: { type: "integer" } },
  logprobs: { ...integer, minimum: 0, maximum: 5 },
  max_tokens: { ...integer, minimum: 0, default: 16 },
  n: { ...integer, minimum: 1, maximum: 128, default: 1 },
  presence_penalty: { ...decimal, default: 0, minimum: -2, maximum: 2 },
  seed: integer,
  stop: { $ref: "#/definitions/StopConfiguration" },
  stream: { ...boolean, enum: [false, null] },
  stream_options: { $ref: "#/definitions/ChatCompletionStreamOptions" },
  suffix: { type: ["string", "null"] },
  temperature: { ...decimal, minimum: 0, maximum: 2, default: 1 },
  top_p: { ...decimal, minimum: 0, maximum: 1, default: 1 },
  user: { type: "string" },
};

describe("the completion tool", () => {
  test("takes one body, and nothing beside it", () => {
    const { definitions: _, ...schema } = bare(toolNamed(completionTool).inputSchema) as {
      definitions: unknown;
    };
    expect(schema).toEqual({
      type: "object",
      properties: { body: { $ref: "#/definitions/CreateCompletionRequest" } },
      required: ["body"],
      additionalProperties: false,
    });
  });

  test("defines the request, its stop texts and its stream options", () => {
    const { definitions } = toolNamed(completionTool).inputSchema;
    expect(bare(definitions)).toEqual({
      CreateCompletionRequest: {
        type: "object",
        properties: fields,
        required: ["model", "prompt"],
      },
      StopConfiguration: {
        oneOf: [
          { type: "string", default: "<|endoftext|>" },
          { type: "array", minItems: 1, maxItems: 4, items: { type: "string" } },
          { type: "null" },
        ],
      },
      ChatCompletionStreamOptions: {
        anyOf: [
          {
            type: "object",
            properties: {
              include_usage: { type: "boolean" },
              include_obfuscation: { type: "boolean" },
            },
          },
          { type: "null" },
        ],
      },
    });
  });

  test("describes every field in words", () => {
    const { definitions } = toolNamed(completionTool).inputSchema as unknown as {
      definitions: Record<string, { properties: Record<string, { description?: string }> }>;
    };
    const { properties } = definitions.CreateCompletionRequest ?? { properties: {} };
    const silent = Object.entries(properties).filter(
      ([, field]) => !("$ref" in field) && (field.description ?? "").length < 10,
    );
    expect(silent).toEqual([]);
  });

  test("says that it writes, destroys nothing and stays on this machine", () => {
    const { title, annotations } = toolNamed(completionTool);
    expect(title).toBe("Create completion");
    expect(annotations).toEqual({
      title: "Create completion",
      readOnlyHint: false,
      destructiveHint: false,
      idempotentHint: false,
      openWorldHint: false,
    });
  });

  test("says how long a call may take, how many run at once, and gives an example", () => {
    expect(toolNamed(completionTool)._meta).toEqual({
      "completionist/command": {
        effect: "write",
        timeoutSeconds: 120,
        maxRequests: 1,
        summary: false,
        example: { body: { model: "example", prompt: "<|endoftext|>" } },
      },
    });
  });
});

test("the other tools only read, and all tools describe what they take and give", () => {
  expect(tools.map(({ name }) => name)).toEqual([completionTool, "score", "list_models"]);
  for (const name of ["score", "list_models"]) {
    expect(toolNamed(name).annotations).toMatchObject({ readOnlyHint: true, openWorldHint: false });
    expect(toolNamed(name).inputSchema.additionalProperties).toBe(false);
  }
  for (const { description, outputSchema } of tools) {
    expect(description?.length).toBeGreaterThan(40);
    expect(outputSchema?.type).toBe("object");
  }
});

test("the completion tool takes another name for hosts that refuse dots", async () => {
  const other = await startHost([...engineOptions(), "--tool-name", "create_completion"]);
  try {
    const names = (await other.client.listTools()).tools.map(({ name }) => name);
    expect(names).toEqual(["create_completion", "score", "list_models"]);
  } finally {
    await other.close();
  }
});
