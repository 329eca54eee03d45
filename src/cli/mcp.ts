/** `completionist mcp`: the completions as tools of an agent host, over standard input or HTTP. */
import type { Access } from "../access/access.ts";
import { unrecordedAccess } from "../access/unrecorded-access.ts";
import { refuseOpenServer } from "../config/exposure.ts";
import type { LoadedConfiguration } from "../config/load.ts";
import type { Configuration } from "../config/settings.ts";
import type { CompletionSource } from "../mcp/completion-source.ts";
import { createHttpEndpoint, mcpPath } from "../mcp/http-endpoint.ts";
import { type LocalModels, localSource } from "../mcp/local-source.ts";
import type { McpServerParts } from "../mcp/mcp-server.ts";
import { remoteSource } from "../mcp/remote-source.ts";
import { serveStdio } from "../mcp/stdio.ts";
import { createTools, defaultToolOptions } from "../mcp/tools.ts";
import { openPool, preload } from "../models/open-pool.ts";
import { createLog, type Log } from "../observe/log.ts";
import { createCatalog, type ModelEntries, readModelEntries } from "./catalog-settings.ts";
import { openServerAccess } from "./server-access.ts";
import { type StopSignals, watchStopSignals } from "./stop-signals.ts";
import { listenProblem, UserError, usageExitCode } from "./user-error.ts";
import { packageVersion } from "./version.ts";

/** Options that only this command has, as they were given. */
export interface McpOptions {
  /** Streamable HTTP instead of standard input and output. */
  readonly http: boolean;
  readonly toolName: string | undefined;
  /** A completions server that answers instead of an engine of our own. */
  readonly baseUrl: string | undefined;
}

/** The model name of the published example: it means the model that is served. */
const exampleAlias = "example";

/** Resolves with the exit code when the host has left or the program was told to stop. */
export async function mcp(loaded: LoadedConfiguration, options: McpOptions): Promise<number> {
  const { configuration, warnings } = loaded;
  const toolName = checkToolName(options.toolName ?? defaultToolOptions.toolName);
  const baseUrl = options.baseUrl === undefined ? undefined : checkBaseUrl(options.baseUrl);
  const log = createLog({ level: configuration.logLevel, format: configuration.logFormat });
  for (const warning of warnings) log.warn(warning);
  const access = options.http ? await openServerAccess(configuration, log) : unrecordedAccess();
  if (options.http) refuseOpenServer(configuration, access.keysInUse);
  const signals = watchStopSignals();
  const ended = new AbortController();
  const opening = AbortSignal.any([signals.stopped, ended.signal]);
  const source = openSource(configuration, baseUrl, { access, log, signal: opening });
  try {
    const toolOptions = { ...defaultToolOptions, toolName };
    const tools = createTools(source, toolOptions);
    const { callTimeoutMs } = toolOptions;
    const parts = { tools, callTimeoutMs, version: packageVersion(), log };
    if (options.http) return await serveHttp(parts, configuration, access, signals);
    return await serveHost(parts, configuration, signals);
  } finally {
    ended.abort();
    await source.close();
    await access.close();
    signals.dispose();
  }
}

async function serveHost(
  parts: McpServerParts,
  { bodyLimit }: Configuration,
  { stopped }: StopSignals,
): Promise<number> {
  const { stdin: input, stdout: output } = process;
  await serveStdio(parts, { input, output, messageBytesMax: bodyLimit, stopped });
  return 0;
}

async function serveHttp(
  parts: McpServerParts,
  configuration: Configuration,
  access: Access,
  { stopped }: StopSignals,
): Promise<number> {
  const { host, port, allowedHost, cors, bodyLimit } = configuration;
  const endpoint = createHttpEndpoint(parts, {
    host,
    access,
    allowedHosts: allowedHost,
    cors,
    bodyBytesMax: bodyLimit,
  });
  const address = await endpoint
    .listen({ host: host.replace(/^\[|\]$/g, ""), port })
    .catch((error: unknown) => {
      throw listenProblem(error, host, port);
    });
  process.stderr.write(`Agent hosts connect to ${address}${mcpPath}\n`);
  if (!stopped.aborted) {
    await new Promise((resolve) => stopped.addEventListener("abort", resolve, { once: true }));
  }
  await endpoint.close();
  return 0;
}

interface SourceContext {
  readonly access: Access;
  readonly log: Log;
  /** Ends the opening of the model. */
  readonly signal: AbortSignal;
}

function openSource(
  configuration: Configuration,
  baseUrl: string | undefined,
  context: SourceContext,
): CompletionSource {
  if (baseUrl !== undefined) {
    const apiKey = configuration.apiKey[0];
    return remoteSource({ baseUrl, apiKey, defaultAlias: exampleAlias });
  }
  // Mistakes are told at once; what takes time goes on while the host already talks to us.
  const chosen = readModelEntries(configuration);
  for (const warning of chosen.warnings) context.log.warn(warning);
  const opened = openModels(configuration, chosen, context);
  opened.catch((error: unknown) => {
    if (!context.signal.aborted) context.log.error({ err: error }, "the model could not be opened");
  });
  return localSource(opened);
}

async function openModels(
  settings: Configuration,
  { entries, first }: ModelEntries,
  { access, log, signal }: SourceContext,
): Promise<LocalModels> {
  const pool = openPool(entries, { memory: settings.memory, log });
  try {
    await preload(pool, entries, signal);
  } catch (error) {
    await pool.close();
    throw error;
  }
  const catalog = createCatalog(settings, pool.models, new Map([[exampleAlias, first]]));
  return { catalog, access, log, strict: settings.strict, close: () => pool.close() };
}

/** What hosts accept in a name. */
function checkToolName(name: string): string {
  if (/^[A-Za-z0-9_.-]{1,128}$/.test(name) && !["score", "list_models"].includes(name)) return name;
  throw new UserError(
    `--tool-name: expected up to 128 letters, digits, _, - or dots, other than the names of the ` +
      `other tools, got "${name}"`,
    usageExitCode,
  );
}

/** Without a slash at its end; a server's bare address gets the path that most have. */
function checkBaseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new UserError(
      `--base-url: expected an address such as http://127.0.0.1:8000/v1, got "${text}"`,
      usageExitCode,
    );
  }
  const path = url.pathname.replace(/\/+$/, "");
  return `${url.origin}${path === "" ? "/v1" : path}`;
}
