/** Turns traces on where the environment asks for them; OpenTelemetry is only then loaded. */
import { noTracing, type Tracing } from "./tracing.ts";
import { type Environment, readTracingSettings } from "./tracing-settings.ts";

export interface OpenTracing {
  readonly environment: Environment;
  /** Of the program. */
  readonly version: string;
  readonly log: TracingLog;
}

/** The part of a logger that tracing uses. */
export interface TracingLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/** Never fails: what is wrong with the environment becomes a warning, and nothing is traced. */
export async function openTracing({ environment, version, log }: OpenTracing): Promise<Tracing> {
  const { settings, warnings } = readTracingSettings(environment);
  for (const warning of warnings) log.warn({}, `tracing: ${warning}`);
  if (settings === undefined) return noTracing;
  try {
    const { OtelTracing } = await import("./otel-tracing.ts");
    const tracing = new OtelTracing({ settings, version, log });
    const { origin, pathname } = new URL(settings.url);
    log.info({ endpoint: origin + pathname }, "traces are sent");
    return tracing;
  } catch (error) {
    log.warn({ err: error }, "tracing: OpenTelemetry does not start, nothing is traced");
    return noTracing;
  }
}
