/**
 * One connection of an agent host: the protocol of the SDK over our tools. Each connection has a
 * server of its own; tools, queue and engine are shared.
 */
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import {
  CallToolRequestSchema,
  type CallToolResult,
  ErrorCode,
  ListToolsRequestSchema,
  McpError,
  type ServerNotification,
} from "@modelcontextprotocol/sdk/types.js";
import type { Principal } from "../access/access.ts";
import { anybody } from "../access/unrecorded-access.ts";
import { shorten } from "../contract/shorten.ts";
import { Progress } from "./progress.ts";
import { callTimeout, errorBodyOf, isExpected } from "./tool-error.ts";
import type { CommandTool } from "./tools.ts";

export interface McpServerParts {
  readonly tools: ReadonlyMap<string, CommandTool>;
  readonly callTimeoutMs: number;
  readonly version: string;
  readonly log: McpLog;
  /** Whose host is connected; without it, anybody's. */
  readonly principal?: Principal;
}

/** The part of a logger that is used; pino has it. */
export interface McpLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

const instructions =
  "Completions of a language model that continues texts. Calls run one at a time: a second one " +
  "waits for the first.";

export function createMcpServer(parts: McpServerParts): Server {
  const { tools, version, log } = parts;
  const server = new Server(
    { name: "completionist", title: "completionist", version },
    { capabilities: { tools: {} }, instructions },
  );
  server.onerror = (error) => log.warn({ err: error }, "a message could not be handled");
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: [...tools.values()].map(({ definition }) => definition),
  }));
  server.setRequestHandler(CallToolRequestSchema, ({ params }, extra) => {
    const tool = tools.get(params.name);
    if (tool === undefined) {
      throw new McpError(ErrorCode.InvalidParams, `There is no tool ${shorten(params.name)}`);
    }
    return callTool(tool, params.arguments ?? {}, parts, {
      signal: extra.signal,
      token: extra._meta?.progressToken,
      send: extra.sendNotification,
    });
  });
  return server;
}

interface Caller {
  /** Aborted when the caller cancels or the connection ends. */
  readonly signal: AbortSignal;
  readonly token: string | number | undefined;
  readonly send: (notification: ServerNotification) => Promise<void>;
}

/** Whatever goes wrong is the result of the call, so that an agent can read it and do better. */
async function callTool(
  tool: CommandTool,
  given: Readonly<Record<string, unknown>>,
  { callTimeoutMs, log, principal = anybody }: McpServerParts,
  caller: Caller,
): Promise<CallToolResult> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(callTimeout(callTimeoutMs)), callTimeoutMs);
  const signal = AbortSignal.any([caller.signal, late.signal]);
  const progress = new Progress(caller);
  try {
    tool.check(given);
    return await tool.run(given, { signal, progress, principal });
  } catch (thrown) {
    // An interrupted run may fail in any way; why it was interrupted is what counts.
    const cause: unknown = signal.aborted ? signal.reason : thrown;
    if (!isExpected(cause) && !caller.signal.aborted) {
      log.error({ tool: tool.definition.name, err: cause }, "a tool call failed");
    }
    return errorResult(cause);
  } finally {
    clearTimeout(timer);
  }
}

/** Without structured content: that would have to match the tool's output schema. */
function errorResult(thrown: unknown): CallToolResult {
  return { isError: true, content: [{ type: "text", text: JSON.stringify(errorBodyOf(thrown)) }] };
}
