/**
 * Traces through OpenTelemetry: a queue of bounded length, sent from time to time by OTLP over
 * HTTP. A collector that is slow or gone costs spans, never a request. Loaded only when wanted.
 */
import {
  type Context,
  createTraceState,
  DiagLogLevel,
  diag,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import {
  defaultResource,
  detectResources,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
  serviceNameEnvDetector,
} from "@opentelemetry/resources";
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import type { TracingLog } from "./open-tracing.ts";
import { OtelCompletion, startCompletionSpan } from "./otel-completion.ts";
import { parseTraceParent } from "./trace-parent.ts";
import type {
  CompletionTrace,
  RequestTrace,
  TracedCompletion,
  TracedRequest,
  Tracing,
} from "./tracing.ts";
import type { Sampling, TracingSettings } from "./tracing-settings.ts";

/** Longest text of an attribute; paths and stop strings come from clients. */
const attributeCharactersMax = 256;
/** How long the end of the server waits for spans to be sent. */
const closeMsMax = 2000;
/** A collector that is gone is told about at most so often. */
const complaintsApartMs = 60_000;
const complaintCharactersMax = 300;
const traceStateCharactersMax = 512;

export interface OtelTracingOptions {
  readonly settings: TracingSettings;
  readonly version: string;
  readonly log: TracingLog;
  /** Milliseconds, monotonic. */
  readonly nowMs?: () => number;
}

export class OtelTracing implements Tracing {
  readonly #provider: TracerProvider;
  readonly #tracer: Tracer;
  readonly #followsCallers: boolean;
  readonly #complain: Complain;

  constructor({ settings, version, log, nowMs = () => performance.now() }: OtelTracingOptions) {
    const complain = complaints(log, nowMs);
    hearLibrary(complain);
    this.#complain = complain;
    const { queue } = settings;
    const exporter = new TellingExporter(new OTLPTraceExporter({ url: settings.url }), complain);
    const processor = new BatchSpanProcessor({
      exporter,
      maxQueueSize: queue.spansMax,
      maxExportBatchSize: queue.batchSpansMax,
      scheduledDelayMillis: queue.delayMs,
      exportTimeoutMillis: queue.exportTimeoutMs,
    });
    const own = { "service.name": "completionist", "service.version": version };
    this.#provider = new TracerProvider({
      // What the environment says (OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES) wins.
      resource: defaultResource()
        .merge(resourceFromAttributes(own))
        .merge(
          detectResources({ detectors: [resourceAttributesEnvDetector, serviceNameEnvDetector] }),
        ),
      sampler: samplerOf(settings.sampling),
      spanLimits: { attributeValueLengthLimit: attributeCharactersMax },
      spanProcessors: [processor],
    });
    this.#tracer = this.#provider.getTracer("completionist", version);
    this.#followsCallers = settings.followsCallers;
  }

  begin(request: TracedRequest): RequestTrace {
    const parent = this.#followsCallers ? contextOf(request) : ROOT_CONTEXT;
    return new OtelRequest(this.#tracer, request, parent);
  }

  async close(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(() => {
        this.#complain("the collector did not take the last ones in time");
        resolve();
      }, closeMsMax);
    });
    // A failure to send was told already.
    const sent = this.#provider.shutdown().catch(() => {});
    await Promise.race([sent, late]);
    clearTimeout(timer);
  }
}

function samplerOf({ kind, ratio, parentDecides }: Sampling): Sampler {
  const root =
    kind === "all"
      ? new AlwaysOnSampler()
      : kind === "none"
        ? new AlwaysOffSampler()
        : new TraceIdRatioBasedSampler(ratio);
  return parentDecides ? new ParentBasedSampler({ root }) : root;
}

type Complain = (message: string) => void;

/** Puts it into the log, cut short and not too often. */
function complaints(log: TracingLog, nowMs: () => number): Complain {
  let lastMs = Number.NEGATIVE_INFINITY;
  return (message) => {
    if (nowMs() - lastMs < complaintsApartMs) return;
    lastMs = nowMs();
    log.warn({ reason: message.slice(0, complaintCharactersMax) }, "traces could not be sent");
  };
}

/** What the library has to say about itself, spans that it dropped for instance. */
function hearLibrary(complain: Complain): void {
  const quiet = () => {};
  diag.setLogger(
    { error: complain, warn: complain, info: quiet, debug: quiet, verbose: quiet },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
}

/** An exporter that tells of every failure, also of the last one, which the library keeps quiet. */
class TellingExporter implements SpanExporter {
  readonly #inner: SpanExporter;
  readonly #complain: Complain;

  constructor(inner: SpanExporter, complain: Complain) {
    this.#inner = inner;
    this.#complain = complain;
  }

  export(...[spans, done]: Parameters<SpanExporter["export"]>): void {
    this.#inner.export(spans, (result) => {
      if (result.error !== undefined) this.#complain(result.error.message);
      done(result);
    });
  }

  shutdown(): Promise<void> {
    return this.#inner.shutdown();
  }
}

function contextOf({ headers }: TracedRequest): Context {
  const parent = parseTraceParent(headers.traceparent);
  if (parent === undefined) return ROOT_CONTEXT;
  const { tracestate } = headers;
  const usable = typeof tracestate === "string" && tracestate.length <= traceStateCharactersMax;
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId: parent.traceId,
    spanId: parent.spanId,
    traceFlags: parent.flags,
    isRemote: true,
    ...(usable ? { traceState: createTraceState(tracestate) } : {}),
  });
}

const knownMethods = new Set("GET HEAD POST PUT DELETE CONNECT OPTIONS TRACE PATCH".split(" "));

class OtelRequest implements RequestTrace {
  readonly #tracer: Tracer;
  readonly #span: Span;
  readonly #context: Context;
  #error: string | undefined;

  constructor(tracer: Tracer, request: TracedRequest, parent: Context) {
    const { method, path, route, httpVersion, headers, requestId } = request;
    const known = knownMethods.has(method);
    const agent = headers["user-agent"];
    this.#tracer = tracer;
    const name = known ? method : "HTTP";
    this.#span = tracer.startSpan(
      route === undefined ? name : `${name} ${route}`,
      {
        kind: SpanKind.SERVER,
        attributes: {
          "http.request.method": known ? method : "_OTHER",
          ...(known ? {} : { "http.request.method_original": method }),
          "url.path": path,
          "url.scheme": "http",
          "network.protocol.version": httpVersion,
          ...(route === undefined ? {} : { "http.route": route }),
          ...(typeof agent === "string" ? { "user_agent.original": agent } : {}),
          "completionist.request.id": requestId,
        },
      },
      parent,
    );
    this.#context = trace.setSpan(parent, this.#span);
  }

  caller({ id, name }: { readonly id: string | undefined; readonly name: string }): void {
    if (id !== undefined) this.#span.setAttribute("completionist.key.id", id);
    if (name !== "") this.#span.setAttribute("completionist.key.name", name);
  }

  failed(errorName: string): void {
    this.#error ??= errorName;
  }

  completion(completion: TracedCompletion): CompletionTrace {
    return new OtelCompletion(startCompletionSpan(this.#tracer, this.#context, completion));
  }

  end(status: number | undefined): void {
    if (status !== undefined) this.#span.setAttribute("http.response.status_code", status);
    const error = status === undefined ? (this.#error ?? "client_left") : this.#error;
    if (error !== undefined) this.#span.setAttribute("error.type", error);
    // Errors of clients are no errors of the server; those inside of streams have status 200.
    const failed = status !== undefined && (status >= 500 || (status < 400 && error !== undefined));
    if (failed) this.#span.setStatus({ code: SpanStatusCode.ERROR });
    this.#span.end();
  }
}
