/** The HTTP server that a configuration asks for, over an opened model and opened access. */
import type { Access } from "../access/access.ts";
import type { Configuration } from "../config/settings.ts";
import { limitsProfiles } from "../contract/limits.ts";
import { createServer } from "../http/server.ts";
import type { Health } from "../http/server-context.ts";
import { defaultServerOptions } from "../http/server-options.ts";
import type { EmbeddedEngine } from "../llama/embedded-engine.ts";
import type { OpenedModel } from "../models/open-model.ts";
import type { EngineSample } from "../observe/engine-metrics.ts";
import type { Log } from "../observe/log.ts";
import { Metrics } from "../observe/metrics.ts";
import type { Tracing } from "../observe/tracing.ts";
import { createCatalog } from "./catalog-settings.ts";
import { packageVersion } from "./version.ts";

/** Bodies of the largest size that must find room at once. */
const largestBodiesHeld = 4;

export type ApiServer = ReturnType<typeof createServer>;

export interface ApiParts extends OpenedModel {
  readonly access: Access;
  readonly log: Log;
  readonly tracing: Tracing;
  readonly shutdown: AbortSignal;
}

export function createApiServer(configuration: Configuration, parts: ApiParts): ApiServer {
  const { access, file, engine, log, tracing, shutdown } = parts;
  const created = Math.floor(Date.now() / 1000);
  const version = packageVersion();
  const metrics = new Metrics({ version });
  metrics.watchEngine(file.id, () => sampleOf(engine));
  metrics.access.watchLedger(() => access.health());
  return createServer({
    access,
    catalog: createCatalog(configuration, { id: file.id, engine, created }),
    log,
    shutdown,
    health: () => healthOf(engine),
    metrics,
    tracing,
    options: {
      limits: limitsProfiles[configuration.limits],
      strict: configuration.strict,
      host: configuration.host,
      allowedHosts: configuration.allowedHost,
      cors: corsOf(configuration.cors),
      basePath: configuration.basePath,
      bodyBytesMax: configuration.bodyLimit,
      heldBodyBytesMax: heldBodyBytesMax(configuration.bodyLimit),
      connectionsMax: configuration.connections,
      requestTimeMsMax: configuration.timeout * 1000,
      metrics: configuration.metrics,
      logPrompts: configuration.logPrompts,
      version,
    },
  });
}

function heldBodyBytesMax(bodyBytesMax: number): number {
  return Math.max(defaultServerOptions.heldBodyBytesMax, largestBodiesHeld * bodyBytesMax);
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
