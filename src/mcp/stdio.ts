/** Serves one agent host over standard input and output, until it leaves or a signal comes. */
import type { Readable, Writable } from "node:stream";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { createMcpServer, type McpServerParts } from "./mcp-server.ts";

export interface StdioOptions {
  readonly input: Readable;
  /** Carries the protocol and nothing else. */
  readonly output: Writable;
  /** Bytes of one message; a longer one ends the connection. */
  readonly messageBytesMax: number;
  readonly stopped: AbortSignal;
}

/** Resolves when the connection has ended; calls under way are interrupted then. */
export async function serveStdio(parts: McpServerParts, options: StdioOptions): Promise<void> {
  const { input, output, messageBytesMax, stopped } = options;
  const server = createMcpServer(parts);
  const ended = Promise.withResolvers<void>();
  server.onclose = () => ended.resolve();
  const leave = () => ended.resolve();
  input.once("end", leave);
  input.once("close", leave);
  // A host that died no longer reads.
  output.on("error", leave);
  stopped.addEventListener("abort", leave, { once: true });
  if (stopped.aborted) leave();
  await server.connect(new StdioServerTransport(input, output, { maxBufferSize: messageBytesMax }));
  await ended.promise;
  await server.close();
}
