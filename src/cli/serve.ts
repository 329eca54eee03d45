/** `completionist serve`: brings the model, starts the engine, serves until told to stop. */
import { createServer as createProbe } from "node:net";
import { refuseOpenServer } from "../config/exposure.ts";
import type { LoadedConfiguration } from "../config/load.ts";
import type { Configuration } from "../config/settings.ts";
import { limitsProfiles } from "../contract/limits.ts";
import { createServer } from "../http/server.ts";
import type { Health } from "../http/server-context.ts";
import type { EmbeddedEngine } from "../llama/embedded-engine.ts";
import { defaultModel } from "../models/default-model.ts";
import { type OpenedModel, openModel } from "../models/open-model.ts";
import { localModel, type ServedModelFile } from "../models/served-model.ts";
import type { EngineSample } from "../observe/engine-metrics.ts";
import { createLog, type Log } from "../observe/log.ts";
import { Metrics } from "../observe/metrics.ts";
import { openTracing } from "../observe/open-tracing.ts";
import type { Tracing } from "../observe/tracing.ts";
import { checkCatalogSettings, createCatalog } from "./catalog-settings.ts";
import { type StopSignals, signalExitCode, watchStopSignals } from "./stop-signals.ts";
import { listenProblem } from "./user-error.ts";
import { packageVersion } from "./version.ts";
import { welcomeText } from "./welcome.ts";

/** Time for answers to be cut and connections to close once the drain time is over. */
const cutMs = 2_000;

type Server = ReturnType<typeof createServer>;

/** Resolves with the exit code when the server has stopped. */
export async function serve(loaded: LoadedConfiguration): Promise<number> {
  const { configuration, warnings } = loaded;
  const log = createLog({ level: configuration.logLevel, format: configuration.logFormat });
  for (const warning of warnings) log.warn(warning);
  if (configuration.logPrompts) log.warn("prompts and completions are written to the log");
  refuseOpenServer(configuration);
  const signals = watchStopSignals();
  try {
    return await untilStopped(configuration, log, signals);
  } catch (error) {
    if (signals.stopped.aborted) return signalExitCode(signals.signal);
    throw error;
  } finally {
    signals.dispose();
  }
}

async function untilStopped(
  configuration: Configuration,
  log: Log,
  signals: StopSignals,
): Promise<number> {
  const { host, port } = configuration;
  const id =
    configuration.model === undefined ? defaultModel.id : localModel(configuration.model).id;
  checkCatalogSettings(configuration, id);
  // Better now than after a download.
  await probeAddress(host, port);
  const opened = await openModel(configuration, { log, signal: signals.stopped });
  const { file, engine } = opened;
  const cut = new AbortController();
  const tracing = await openTracing({ environment: process.env, version: packageVersion(), log });
  const server = createApi(configuration, { ...opened, log, tracing, shutdown: cut.signal });
  try {
    await listen(server, host, port);
    announce(configuration, file, server);
    await stopRequested(signals.stopped);
    log.info({ signal: signals.signal }, "stopping");
    await drain(server, cut, configuration.drain * 1000);
    return 0;
  } finally {
    await engine.close();
    await tracing.close();
  }
}

interface ApiParts extends OpenedModel {
  readonly log: Log;
  readonly tracing: Tracing;
  readonly shutdown: AbortSignal;
}

function createApi(configuration: Configuration, parts: ApiParts): Server {
  const { file, engine, log, tracing, shutdown } = parts;
  const created = Math.floor(Date.now() / 1000);
  const version = packageVersion();
  const metrics = new Metrics({ version });
  metrics.watchEngine(file.id, () => sampleOf(engine));
  return createServer({
    catalog: createCatalog(configuration, { id: file.id, engine, created }),
    log,
    shutdown,
    health: () => healthOf(engine),
    metrics,
    tracing,
    options: {
      limits: limitsProfiles[configuration.limits],
      strict: configuration.strict,
      apiKeys: configuration.apiKey,
      host: configuration.host,
      allowedHosts: configuration.allowedHost,
      cors: corsOf(configuration.cors),
      basePath: configuration.basePath,
      bodyBytesMax: configuration.bodyLimit,
      metrics: configuration.metrics,
      logPrompts: configuration.logPrompts,
      version,
    },
  });
}

function corsOf(origins: readonly string[]): readonly string[] | "*" | undefined {
  if (origins.includes("*")) return "*";
  return origins.length === 0 ? undefined : origins;
}

const healthWords = { ready: "ok", starting: "loading", failed: "failed" } as const;

function healthOf(engine: EmbeddedEngine): Health {
  const { state, restarts, faults, reason, lastFault } = engine.state();
  const { queuedJobs: queued, runningCandidates: running } = engine.stats();
  return {
    status: healthWords[state],
    restarts,
    hangs: faults.hang,
    queued,
    running,
    ...(reason === undefined ? {} : { reason }),
    ...(lastFault === undefined ? {} : { last_fault: lastFault }),
  };
}

function sampleOf(engine: EmbeddedEngine): EngineSample {
  const { state, restarts, faults } = engine.state();
  return { stats: engine.stats(), up: state === "ready", restarts, faults };
}

/** Rejects when nothing can listen there, and listens no longer than that takes. */
async function probeAddress(host: string, port: number): Promise<void> {
  const probe = createProbe();
  try {
    await new Promise<void>((resolve, reject) => {
      probe.once("error", reject);
      probe.listen({ host: plainHost(host), port, exclusive: true }, resolve);
    });
  } catch (error) {
    throw listenProblem(error, host, port);
  }
  await new Promise((resolve) => probe.close(resolve));
}

async function listen(server: Server, host: string, port: number): Promise<void> {
  try {
    await server.listen({ host: plainHost(host), port });
  } catch (error) {
    throw listenProblem(error, host, port);
  }
}

const plainHost = (host: string): string => host.replace(/^\[|\]$/g, "");

function announce(configuration: Configuration, file: ServedModelFile, server: Server): void {
  const address = server.server.address();
  const text = welcomeText({
    host: configuration.host,
    port: typeof address === "object" && address !== null ? address.port : configuration.port,
    basePath: configuration.basePath,
    model: file.id,
    needsKey: configuration.apiKey.length > 0,
  });
  process.stdout.write(`${text}\n`);
}

function stopRequested(stopped: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (stopped.aborted) resolve();
    else stopped.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** Lets running requests end; those that take longer than `drainMs` are told so and cut. */
async function drain(server: Server, cut: AbortController, drainMs: number): Promise<void> {
  const closed = server.close();
  if (await endsWithin(closed, drainMs)) return;
  cut.abort();
  if (await endsWithin(closed, cutMs)) return;
  server.server.closeAllConnections();
}

async function endsWithin(work: PromiseLike<unknown>, limitMs: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), limitMs);
  });
  try {
    return await Promise.race([Promise.resolve(work).then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}
