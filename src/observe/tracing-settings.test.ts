import { describe, expect, test } from "vitest";
import { openTracing } from "./open-tracing.ts";
import { noTracing } from "./tracing.ts";
import { readTracingSettings } from "./tracing-settings.ts";

const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318" };
const read = (more: Readonly<Record<string, string>> = {}) =>
  readTracingSettings({ ...endpoint, ...more });

describe("nothing is traced", () => {
  test.each([
    ["without an endpoint", { OTEL_EXPORTER_OTLP_ENDPOINT: "" }],
    ["where the SDK is disabled", { OTEL_SDK_DISABLED: "TRUE" }],
    ["where no exporter is wanted", { OTEL_TRACES_EXPORTER: "none" }],
  ])("%s, and nothing is said", (_, more) => {
    expect(read(more)).toEqual({ settings: undefined, warnings: [] });
  });

  test.each([
    ["OTEL_TRACES_EXPORTER", "zipkin"],
    ["OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"],
    ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/json"],
    ["OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4317"],
    ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "ftp://collector"],
  ])("where %s is %s, and a warning says so", (name, value) => {
    const { settings, warnings } = read({ [name]: value });
    expect(settings).toBeUndefined();
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain(name);
  });

  test("and the seam that does nothing is what the server gets", async () => {
    const log = { info: () => {}, warn: () => {} };
    expect(await openTracing({ environment: {}, version: "0", log })).toBe(noTracing);
  });
});

describe("the address", () => {
  test.each([
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: "http://c:4318" }, "http://c:4318/v1/traces"],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: "http://c:4318/" }, "http://c:4318/v1/traces"],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: "https://c/otlp" }, "https://c/otlp/v1/traces"],
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://c:4318/x" }, "http://c:4318/x"],
  ])("of %j is %s", (environment, url) => {
    expect(read(environment as Record<string, string>).settings?.url).toBe(url);
  });
});

describe("sampling", () => {
  test.each([
    [{}, { kind: "all", parentDecides: true, ratio: 1 }],
    [{ OTEL_TRACES_SAMPLER: "always_on" }, { kind: "all", parentDecides: false, ratio: 1 }],
    [{ OTEL_TRACES_SAMPLER: "always_off" }, { kind: "none", parentDecides: false, ratio: 1 }],
    [
      { OTEL_TRACES_SAMPLER: "parentbased_traceidratio", OTEL_TRACES_SAMPLER_ARG: "0.25" },
      { kind: "ratio", parentDecides: true, ratio: 0.25 },
    ],
  ])("of %j", (environment, sampling) => {
    expect(read(environment as Record<string, string>)).toMatchObject({
      settings: { sampling },
      warnings: [],
    });
  });

  test.each([
    { OTEL_TRACES_SAMPLER: "jaeger_remote" },
    { OTEL_TRACES_SAMPLER: "constructor" },
    { OTEL_TRACES_SAMPLER: "traceidratio", OTEL_TRACES_SAMPLER_ARG: "7" },
  ])("that is not known takes everything and warns: %j", (environment) => {
    const { settings, warnings } = read(environment as Record<string, string>);
    expect(settings?.sampling.ratio).toBe(1);
    expect(warnings).toHaveLength(1);
  });
});

test("the queue is bounded, whatever the environment says", () => {
  const { settings, warnings } = read({
    OTEL_BSP_MAX_QUEUE_SIZE: "1000000000",
    OTEL_BSP_SCHEDULE_DELAY: "-1",
    OTEL_BSP_MAX_EXPORT_BATCH_SIZE: "4000",
  });
  expect(settings?.queue).toEqual({
    spansMax: 2048,
    batchSpansMax: 2048,
    delayMs: 5000,
    exportTimeoutMs: 30_000,
  });
  expect(warnings).toHaveLength(2);
});

test("callers are not followed where no such propagator is wanted", () => {
  expect(read().settings?.followsCallers).toBe(true);
  expect(read({ OTEL_PROPAGATORS: "baggage,tracecontext" }).settings?.followsCallers).toBe(true);
  expect(read({ OTEL_PROPAGATORS: "none" }).settings?.followsCallers).toBe(false);
});
