/** The words of `completionist mcp` on the command line. */
import type { Command } from "commander";
import type { SettingName } from "../config/settings.ts";
import type { McpOptions } from "./mcp.ts";
import { addSettingOptions } from "./setting-options.ts";

/** Those that a tool call or its endpoint has a use for. */
const mcpSettings: readonly SettingName[] = [
  ...(["model", "context", "slots", "threads", "numerics", "kvType", "insertion"] as const),
  ...(["host", "port", "cors", "allowedHost", "bodyLimit"] as const),
  ...(["apiKey", "noAuth", "strict", "database", "keepUsage"] as const),
  ...(["cache", "data", "logLevel", "logFormat"] as const),
];

export function addMcpOptions(command: Command): Command {
  command
    .description("Offer the completions to an agent host as tools (MCP), over standard input.")
    .option("--http", "Offer them over HTTP instead, on --host and --port, at /mcp.")
    .option("--tool-name <NAME>", "Name of the completion tool. (default: openai.createcompletion)")
    .option(
      "--base-url <URL>",
      "Let the completions server at this address answer, with --api-key as its key, instead of " +
        "an engine of our own.",
    );
  addSettingOptions(command, mcpSettings);
  return command;
}

export function mcpOptionsOf(command: Command): McpOptions {
  const { http, toolName, baseUrl } = command.opts<Partial<McpOptions>>();
  return { http: http === true, toolName, baseUrl };
}
