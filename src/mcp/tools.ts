/** The tools: what is published about each, and what a call does. */
import type { CallToolResult, Tool } from "@modelcontextprotocol/sdk/types.js";
import { CallQueue } from "./call-queue.ts";
import { type ArgumentCheck, argumentCheck, completionCheck } from "./check-arguments.ts";
import type { Call, CompletionSource } from "./completion-source.ts";
import { createCompletionExample, createCompletionInput } from "./create-completion-schema.ts";
import { isObject, type JsonObject } from "./json.ts";
import {
  createCompletionOutput,
  listModelsInput,
  listModelsOutput,
  scoreInput,
  scoreOutput,
} from "./other-schemas.ts";
import { describeScores, readScores, scoreRequest } from "./score.ts";

export interface CommandTool {
  readonly definition: Tool;
  readonly check: ArgumentCheck;
  readonly run: (given: JsonObject, call: Call) => Promise<CallToolResult>;
}

export interface ToolOptions {
  /** Of the completion tool. */
  readonly toolName: string;
  readonly callTimeoutMs: number;
}

export const defaultToolOptions: ToolOptions = {
  toolName: "openai.createcompletion",
  callTimeoutMs: 120_000,
};

/** Completions and scores run one at a time; this many more may wait. */
export const waitingCallsMax = 64;

export function createTools(
  source: CompletionSource,
  options: ToolOptions,
): ReadonlyMap<string, CommandTool> {
  const queue = new CallQueue({ waitingMax: waitingCallsMax });
  const complete = (body: JsonObject, call: Call) =>
    queue.run(call.signal, () => source.complete(body, call));
  const tools = [
    completionTool(complete, source.isRemote, options),
    scoreTool(complete, source.isRemote),
    listModelsTool(source),
  ];
  return new Map(tools.map((tool) => [tool.definition.name, tool]));
}

type Complete = (body: JsonObject, call: Call) => Promise<JsonObject>;

function completionTool(complete: Complete, isRemote: boolean, options: ToolOptions): CommandTool {
  const { toolName, callTimeoutMs } = options;
  return {
    definition: {
      name: toolName,
      title: "Create completion",
      description:
        "Lets a language model go on from a text, or fill the gap between a prompt and a suffix. " +
        "The model continues and does not converse: give it the beginning of what is wanted. " +
        "max_tokens is 16 unless you say otherwise.",
      inputSchema: createCompletionInput as Tool["inputSchema"],
      outputSchema: createCompletionOutput as Tool["outputSchema"],
      annotations: {
        title: "Create completion",
        readOnlyHint: false,
        destructiveHint: false,
        idempotentHint: false,
        openWorldHint: isRemote,
      },
      _meta: {
        "completionist/command": {
          effect: "write",
          timeoutSeconds: callTimeoutMs / 1000,
          maxRequests: 1,
          summary: false,
          example: createCompletionExample,
        },
      },
    },
    check: completionCheck(createCompletionInput),
    run: async (given, call) => {
      const response = await complete(given.body as JsonObject, call);
      return { content: choiceTexts(response).map(textContent), structuredContent: response };
    },
  };
}

function scoreTool(complete: Complete, isRemote: boolean): CommandTool {
  return {
    definition: {
      name: "score",
      title: "Score a text",
      description:
        "Says how likely a language model finds a text: the logprob of every token, their sum and " +
        "mean, and the perplexity. Nothing is generated. Compare texts by their mean.",
      inputSchema: scoreInput as Tool["inputSchema"],
      outputSchema: scoreOutput as Tool["outputSchema"],
      annotations: readOnly("Score a text", isRemote),
    },
    check: argumentCheck(scoreInput),
    run: async (given, call) => {
      const scores = readScores(await complete(scoreRequest(given), call), given);
      return { content: [textContent(describeScores(scores))], structuredContent: { ...scores } };
    },
  };
}

function listModelsTool(source: CompletionSource): CommandTool {
  return {
    definition: {
      name: "list_models",
      title: "List models",
      description: "Names the models that the other tools take, and how much text each can hold.",
      inputSchema: listModelsInput as Tool["inputSchema"],
      outputSchema: listModelsOutput as Tool["outputSchema"],
      annotations: readOnly("List models", source.isRemote),
    },
    check: argumentCheck(listModelsInput),
    run: async (_, call) => {
      const models = await source.listModels(call);
      return { content: [textContent(modelNames(models).join("\n"))], structuredContent: models };
    },
  };
}

const readOnly = (title: string, isRemote: boolean) => ({
  title,
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: isRemote,
});

const textContent = (text: string) => ({ type: "text" as const, text });

const entries = (list: unknown): readonly JsonObject[] =>
  Array.isArray(list) ? list.filter(isObject) : [];

const choiceTexts = ({ choices }: JsonObject): readonly string[] =>
  entries(choices).map(({ text }) => String(text));

export const modelNames = ({ data }: JsonObject): readonly string[] =>
  entries(data).map(({ id }) => String(id));
