/** The HTTP server that a configuration asks for, over a pool of models and opened access. */
import type { Access } from "../access/access.ts";
import type { Configuration } from "../config/settings.ts";
import { limitsProfiles } from "../contract/limits.ts";
import { createServer } from "../http/server.ts";
import { defaultServerOptions } from "../http/server-options.ts";
import type { ModelPool } from "../models/model-pool.ts";
import type { Log } from "../observe/log.ts";
import { Metrics } from "../observe/metrics.ts";
import type { Tracing } from "../observe/tracing.ts";
import { createCatalog } from "./catalog-settings.ts";
import { engineSample, modelSample, poolHealth } from "./pool-health.ts";
import { packageVersion } from "./version.ts";

/** Bodies of the largest size that must find room at once. */
const largestBodiesHeld = 4;

export type ApiServer = ReturnType<typeof createServer>;

export interface ApiParts {
  readonly pool: ModelPool;
  /** The models loaded at the start. */
  readonly vital: ReadonlySet<string>;
  readonly access: Access;
  readonly log: Log;
  readonly tracing: Tracing;
  readonly shutdown: AbortSignal;
}

export function createApiServer(configuration: Configuration, parts: ApiParts): ApiServer {
  const { access, pool, vital, log, tracing, shutdown } = parts;
  const version = packageVersion();
  const metrics = new Metrics({ version });
  for (const model of pool.models) {
    metrics.watchEngine(model.id, () => engineSample(model));
    metrics.watchModel(model.id, () => modelSample(pool, model));
  }
  metrics.access.watchLedger(() => access.health());
  return createServer({
    access,
    catalog: createCatalog(configuration, pool.models),
    log,
    shutdown,
    health: () => poolHealth(pool, vital),
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
