/** An agent host: the SDK's own client, connected to the command as its users start it. */
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { tinyGgufFile } from "../../../src/llama/testing/tiny-gguf.ts";

export const command = fileURLToPath(new URL("../../../src/cli/main.ts", import.meta.url));

/** Long enough for runs that only an interruption ends in the time of a test. */
export const longContext = 8192;

export const tinyModel = (): string => tinyGgufFile({ contextLength: longContext });

export const engineOptions = (): string[] => [
  ...["--model", tinyModel(), "--threads", "1", "--context", String(longContext)],
];

/** A request that takes minutes: many candidates, none of which ends early. */
export const endless = {
  model: "example",
  prompt: "Once",
  n: 64,
  max_tokens: longContext - 100,
  ignore_eos: true,
  logit_bias: {},
};

export interface AgentHost {
  readonly client: Client;
  readonly transport: StdioClientTransport;
  /** What the command wrote to standard error. */
  readonly errors: () => string;
  close(): Promise<void>;
}

export async function startHost(
  options: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<AgentHost> {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [command, "mcp", ...options],
    env: { ...(process.env as Record<string, string>), ...environment },
    stderr: "pipe",
  });
  let errors = "";
  transport.stderr?.on("data", (data: Buffer) => {
    errors += data.toString();
  });
  const client = await connect(transport);
  return { client, transport, errors: () => errors, close: () => client.close() };
}

/** Its SDK types are at odds with exactOptionalPropertyTypes. */
export async function connect(transport: object): Promise<Client> {
  const client = new Client({ name: "test-host", version: "1" });
  await client.connect(transport as Transport);
  return client;
}

export const completionTool = "openai.createcompletion";

export const call = async (
  client: Client,
  name: string,
  given: Record<string, unknown>,
): Promise<CallToolResult> => (await client.callTool({ name, arguments: given })) as CallToolResult;

export const complete = (client: Client, body: object): Promise<CallToolResult> =>
  call(client, completionTool, { body });

/** The text of each part of a result. */
export const textsOf = (result: CallToolResult): string[] =>
  result.content.map((part) => (part.type === "text" ? part.text : `(${part.type})`));

/** The error of a call that failed, out of its envelope. */
export function errorOf(result: CallToolResult): unknown {
  const [text = ""] = textsOf(result);
  if (result.isError !== true) throw new Error(`the call did not fail: ${text}`);
  return (JSON.parse(text) as { error: unknown }).error;
}
