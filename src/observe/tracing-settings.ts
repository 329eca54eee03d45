/**
 * The standard environment variables of OpenTelemetry, as far as they decide whether and what is
 * traced. Where to connect with (headers, certificates, timeouts) the exporter reads by itself.
 */

export type Environment = Readonly<Record<string, string | undefined>>;

export interface Sampling {
  readonly kind: "all" | "none" | "ratio";
  /** Share of traces, 0..1; only looked at for `ratio`. */
  readonly ratio: number;
  /** Whether a caller's decision, in `traceparent`, goes before. */
  readonly parentDecides: boolean;
}

/** Bounds of the queue of spans that wait to be sent; beyond them spans are dropped. */
export interface SpanQueue {
  readonly spansMax: number;
  readonly batchSpansMax: number;
  readonly delayMs: number;
  readonly exportTimeoutMs: number;
}

export interface TracingSettings {
  /** Where spans are posted, with the path. */
  readonly url: string;
  readonly sampling: Sampling;
  readonly queue: SpanQueue;
  /** Whether `traceparent` headers are followed. */
  readonly followsCallers: boolean;
}

export interface ReadTracingSettings {
  /** Undefined: nothing is traced. */
  readonly settings: TracingSettings | undefined;
  /** One line each, without values that may hold secrets. */
  readonly warnings: readonly string[];
}

/** Whether the environment asks for traces at all, so that nothing else is loaded if not. */
export function readTracingSettings(environment: Environment): ReadTracingSettings {
  const variables = new Variables(environment);
  const off = { settings: undefined, warnings: variables.warnings };
  if (variables.text("OTEL_SDK_DISABLED")?.toLowerCase() === "true") return off;
  const endpoint = endpointOf(variables);
  if (endpoint === undefined || !exporterWanted(variables) || !protocolKnown(variables)) return off;
  const url = postUrl(endpoint, variables);
  if (url === undefined) return off;
  const settings = {
    url,
    sampling: samplingOf(variables),
    queue: queueOf(variables),
    followsCallers: propagationOf(variables),
  };
  return { settings, warnings: variables.warnings };
}

/** An empty variable is the same as none. */
class Variables {
  readonly warnings: string[] = [];
  readonly #environment: Environment;

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  text(name: string): string | undefined {
    const value = this.#environment[name]?.trim();
    return value === "" ? undefined : value;
  }

  integer(name: string, fallback: number, max: number): number {
    const text = this.text(name);
    if (text === undefined) return fallback;
    const value = Number(text);
    if (Number.isInteger(value) && value >= 1 && value <= max) return value;
    this.warnings.push(`${name} is no whole number from 1 to ${max}: ${fallback} is used`);
    return fallback;
  }
}

interface Endpoint {
  readonly variable: string;
  readonly value: string;
  /** Added to an endpoint that is meant for all kinds of data. */
  readonly path: string;
}

function endpointOf(variables: Variables): Endpoint | undefined {
  const own = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
  const general = "OTEL_EXPORTER_OTLP_ENDPOINT";
  const ownValue = variables.text(own);
  if (ownValue !== undefined) return { variable: own, value: ownValue, path: "" };
  const value = variables.text(general);
  return value === undefined ? undefined : { variable: general, value, path: "v1/traces" };
}

function postUrl({ variable, value, path }: Endpoint, variables: Variables): string | undefined {
  const text = path === "" || value.endsWith("/") ? value + path : `${value}/${path}`;
  if (/^https?:\/\/[^/]/i.test(text) && URL.canParse(text)) return new URL(text).href;
  variables.warnings.push(`${variable} is no http:// or https:// URL: nothing is traced`);
  return undefined;
}

function exporterWanted(variables: Variables): boolean {
  const given = variables.text("OTEL_TRACES_EXPORTER") ?? "otlp";
  const names = given.split(",").map((name) => name.trim().toLowerCase());
  if (names.includes("otlp")) return true;
  if (!names.every((name) => name === "none")) {
    variables.warnings.push("OTEL_TRACES_EXPORTER may be otlp or none: nothing is traced");
  }
  return false;
}

function protocolKnown(variables: Variables): boolean {
  const own = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL";
  const general = "OTEL_EXPORTER_OTLP_PROTOCOL";
  const variable = variables.text(own) === undefined ? general : own;
  const protocol = variables.text(variable) ?? "http/protobuf";
  if (protocol.toLowerCase() === "http/protobuf") return true;
  variables.warnings.push(
    `${variable} is not http/protobuf, which is all that is spoken here: nothing is traced`,
  );
  return false;
}

const samplers: Readonly<Record<string, Omit<Sampling, "ratio">>> = {
  always_on: { kind: "all", parentDecides: false },
  always_off: { kind: "none", parentDecides: false },
  traceidratio: { kind: "ratio", parentDecides: false },
  parentbased_always_on: { kind: "all", parentDecides: true },
  parentbased_always_off: { kind: "none", parentDecides: true },
  parentbased_traceidratio: { kind: "ratio", parentDecides: true },
};

function samplingOf(variables: Variables): Sampling {
  const name = variables.text("OTEL_TRACES_SAMPLER")?.toLowerCase() ?? "parentbased_always_on";
  const known = Object.hasOwn(samplers, name) ? samplers[name] : undefined;
  if (known === undefined) {
    const names = Object.keys(samplers).join(", ");
    variables.warnings.push(`OTEL_TRACES_SAMPLER may be ${names}: everything is traced`);
    return { kind: "all", parentDecides: true, ratio: 1 };
  }
  return { ...known, ratio: known.kind === "ratio" ? ratioOf(variables) : 1 };
}

function ratioOf(variables: Variables): number {
  const ratio = Number(variables.text("OTEL_TRACES_SAMPLER_ARG") ?? "1");
  if (ratio >= 0 && ratio <= 1) return ratio;
  variables.warnings.push("OTEL_TRACES_SAMPLER_ARG is no number from 0 to 1: 1 is used");
  return 1;
}

function queueOf(variables: Variables): SpanQueue {
  const spansMax = variables.integer("OTEL_BSP_MAX_QUEUE_SIZE", 2048, 100_000);
  const batch = variables.integer("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", 512, 10_000);
  return {
    spansMax,
    batchSpansMax: Math.min(batch, spansMax),
    delayMs: variables.integer("OTEL_BSP_SCHEDULE_DELAY", 5000, 600_000),
    exportTimeoutMs: variables.integer("OTEL_BSP_EXPORT_TIMEOUT", 30_000, 600_000),
  };
}

function propagationOf(variables: Variables): boolean {
  const names = (variables.text("OTEL_PROPAGATORS") ?? "tracecontext").toLowerCase().split(",");
  return names.some((name) => name.trim() === "tracecontext");
}
