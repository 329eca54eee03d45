import { describe, expect, test } from "vitest";
import type { EngineSample } from "./engine-metrics.ts";
import { restingStats, zeroCounts } from "./engine-stats.ts";
import { Metrics } from "./metrics.ts";
import { ignoredNamesMax } from "./request-metrics.ts";
import { readSamples } from "./testing/samples.ts";

/** Metrics with a clock that is set by hand. */
function metricsAt() {
  const clock = { ms: 0 };
  const metrics = new Metrics({ version: "1.2.3", nowMs: () => clock.ms });
  const read = async () => readSamples(await metrics.text());
  return { metrics, clock, read };
}

const usage = (completionTokens: number, cachedTokens = 0) => ({
  prompt_tokens: 10,
  completion_tokens: completionTokens,
  total_tokens: 10 + completionTokens,
  prompt_tokens_details: { cached_tokens: cachedTokens },
  completion_tokens_details: { reasoning_tokens: 0 },
});

describe("the names", () => {
  const { metrics } = metricsAt();

  test.each(metrics.list())("$name follows the conventions", ({ name, type, labels }) => {
    expect(name).toMatch(/^completionist_[a-z_]+$/);
    expect(name.endsWith("_total")).toBe(type === "counter");
    if (type === "histogram") expect(name).toMatch(/_seconds$/);
    expect(labels).not.toContain("le");
  });

  test("every metric of a server has a help text and a kind in what is scraped", async () => {
    const text = await metrics.text();
    for (const { name, type } of metrics.list()) {
      expect(text).toMatch(new RegExp(`^# HELP ${name} \\S.*[.1]`, "m"));
      expect(text).toContain(`# TYPE ${name} ${type}\n`);
    }
  });
});

test("two servers count apart", async () => {
  const [one, other] = [metricsAt(), metricsAt()];
  one.metrics.requests.error("server");
  expect((await one.read()).get('completionist_errors_total{error="server"}')).toBe(1);
  expect((await other.read()).has('completionist_errors_total{error="server"}')).toBe(false);
});

describe("requests", () => {
  test("are in flight until they end, then counted by status with their time", async () => {
    const { metrics, clock, read } = metricsAt();
    const meter = metrics.requests.begin("/v1/models", undefined);
    const inFlight = 'completionist_http_requests_in_flight{route="/v1/models"}';
    expect((await read()).get(inFlight)).toBe(1);
    clock.ms = 1500;
    meter.end(200);
    const samples = await read();
    expect(samples.get(inFlight)).toBe(0);
    const requests = 'completionist_http_requests_total{route="/v1/models",status="200"}';
    expect(samples.get(requests)).toBe(1);
    const seconds = "completionist_http_request_duration_seconds";
    expect(samples.get(`${seconds}_sum{route="/v1/models"}`)).toBe(1.5);
    expect(samples.get(`${seconds}_bucket{le="1",route="/v1/models"}`)).toBe(0);
    expect(samples.get(`${seconds}_bucket{le="2.5",route="/v1/models"}`)).toBe(1);
  });

  test("without a route share one label, whose client left have status 499", async () => {
    const { metrics, read } = metricsAt();
    for (let index = 0; index < 50; index++) metrics.requests.begin(undefined, undefined).end(404);
    metrics.requests.begin(undefined, undefined).end(undefined);
    const samples = await read();
    const name = "completionist_http_requests_total";
    expect(samples.get(`${name}{route="other",status="404"}`)).toBe(50);
    expect(samples.get(`${name}{route="other",status="499"}`)).toBe(1);
  });

  test("that are sent again count by how often, five and more together", async () => {
    const { metrics, read } = metricsAt();
    for (const count of ["0", "1", "2", "2", "5", "9000", "x", "-1", "1.5", ""]) {
      metrics.requests.begin("/v1/completions", count).end(200);
    }
    const retries = [...(await read())].filter(([key]) => key.includes("retries_total"));
    expect(Object.fromEntries(retries)).toEqual({
      'completionist_http_retries_total{retry="1"}': 1,
      'completionist_http_retries_total{retry="2"}': 2,
      'completionist_http_retries_total{retry="5+"}': 2,
    });
  });

  test("cannot make more names of ignored parameters than a fixed number", async () => {
    const { metrics, read } = metricsAt();
    const names = Array.from({ length: 1000 }, (_, index) => `field_${index}`);
    metrics.requests.ignored(['a"} 1\nevil', "x".repeat(65), "", ...names, "field_0"]);
    const counted = [...(await read())].filter(([key]) => key.includes("ignored_parameters"));
    expect(counted).toHaveLength(ignoredNamesMax + 1);
    const total = counted.reduce((sum, [, value]) => sum + value, 0);
    expect(total).toBe(names.length + 4);
    const name = "completionist_ignored_parameters_total";
    expect(new Map(counted).get(`${name}{parameter="field_0"}`)).toBe(2);
    expect(new Map(counted).get(`${name}{parameter="other"}`)).toBe(1000 - ignoredNamesMax + 3);
  });
});

describe("a completion", () => {
  const of = (name: string) => `completionist_${name}{model="tiny"}`;

  test("is measured from its request, from its start, and between its tokens", async () => {
    const { metrics, clock, read } = metricsAt();
    clock.ms = 1000;
    const meter = metrics.completions.begin("tiny", 400);
    clock.ms = 3000;
    meter.admitted();
    clock.ms = 3400;
    meter.text(0, usage(1));
    clock.ms = 3450;
    meter.text(0, usage(2));
    clock.ms = 3460;
    meter.text(0, usage(3));
    meter.used(usage(3, 4));
    meter.end();
    const samples = await read();
    expect(samples.get(of("queue_seconds_sum"))).toBe(2);
    expect(samples.get(of("time_to_first_token_seconds_sum"))).toBe(3);
    expect(samples.get(of("time_to_first_token_seconds_count"))).toBe(1);
    expect(samples.get(of("token_gap_seconds_count"))).toBe(2);
    expect(samples.get(of("token_gap_seconds_sum"))).toBeCloseTo(0.06, 12);
    const gap = (le: string) =>
      samples.get(`completionist_token_gap_seconds_bucket{model="tiny",le="${le}"}`);
    expect([gap("0.005"), gap("0.01"), gap("0.03"), gap("0.05"), gap("+Inf")]).toEqual([
      0, 1, 1, 2, 2,
    ]);
    expect(samples.get(of("prompt_tokens_total"))).toBe(10);
    expect(samples.get(of("cached_prompt_tokens_total"))).toBe(4);
    expect(samples.get(of("completion_tokens_total"))).toBe(3);
  });

  test("has the gaps of each choice, not those between choices", async () => {
    const { metrics, clock, read } = metricsAt();
    const meter = metrics.completions.begin("tiny", 0);
    for (const [ms, choice, tokens] of [
      [100, 0, 1],
      [110, 1, 2],
      [200, 0, 3],
      [210, 1, 4],
    ] as const) {
      clock.ms = ms;
      meter.text(choice, usage(tokens));
    }
    const samples = await read();
    expect(samples.get(of("token_gap_seconds_count"))).toBe(2);
    expect(samples.get(of("token_gap_seconds_sum"))).toBeCloseTo(0.2, 12);
  });

  test("that was chosen from several and comes all at once has no gaps", async () => {
    const { metrics, read } = metricsAt();
    const meter = metrics.completions.begin("tiny", 0);
    for (let token = 0; token < 20; token++) meter.text(0, usage(60));
    meter.end();
    const samples = await read();
    expect(samples.get(of("token_gap_seconds_count"))).toBe(0);
    expect(samples.get(of("completion_tokens_total"))).toBe(60);
  });

  test("that was left counts what it had used", async () => {
    const { metrics, read } = metricsAt();
    const left = metrics.completions.begin("tiny", 0);
    left.text(0, usage(1));
    left.text(0, usage(2));
    left.end();
    metrics.completions.begin("tiny", 0).end();
    const samples = await read();
    expect(samples.get(of("prompt_tokens_total"))).toBe(10);
    expect(samples.get(of("completion_tokens_total"))).toBe(2);
  });
});

describe("an engine", () => {
  const stats = restingStats({ slots: 4, capacityTokens: 400 }, zeroCounts);

  test("is asked at every scrape", async () => {
    const { metrics, read } = metricsAt();
    let sample: EngineSample = { stats, up: true, restarts: 0, faults: { crash: 0, hang: 0 } };
    metrics.watchEngine("tiny", () => sample);
    const up = 'completionist_engine_up{model="tiny"}';
    const readTokens = 'completionist_engine_read_tokens_total{model="tiny"}';
    const before = await read();
    expect([before.get(up), before.get(readTokens)]).toEqual([1, 0]);
    const counts = { ...zeroCounts, readTokens: 7 };
    sample = {
      stats: { ...stats, counts, busySlots: 3 },
      up: false,
      restarts: 2,
      faults: { crash: 0, hang: 2 },
    };
    const after = await read();
    expect([after.get(up), after.get(readTokens)]).toEqual([0, 7]);
    expect((await read()).get(readTokens)).toBe(7);
    expect(after.get('completionist_engine_busy_slots{model="tiny"}')).toBe(3);
    expect(after.get('completionist_engine_slots{model="tiny"}')).toBe(4);
    expect(after.get('completionist_engine_kv_capacity_tokens{model="tiny"}')).toBe(400);
    expect(after.get('completionist_engine_restarts_total{model="tiny"}')).toBe(2);
    const hangs = 'completionist_engine_faults_total{model="tiny",kind="hang"}';
    expect([before.get(hangs), after.get(hangs)]).toEqual([0, 2]);
  });

  test("has its completions at zero before the first request", async () => {
    const { metrics, read } = metricsAt();
    metrics.watchEngine("tiny", () => ({ stats, up: true, restarts: 0, faults: {} }));
    const samples = await read();
    expect(samples.get('completionist_completion_tokens_total{model="tiny"}')).toBe(0);
    expect(samples.get('completionist_token_gap_seconds_count{model="tiny"}')).toBe(0);
  });
});

test("the server's process tells its version, its memory and its time", async () => {
  const samples = await metricsAt().read();
  expect(samples.get('completionist_build_info{version="1.2.3"}')).toBe(1);
  expect(samples.get("completionist_process_resident_memory_bytes")).toBeGreaterThan(1e6);
  expect(samples.get("completionist_process_cpu_seconds_total")).toBeGreaterThan(0);
  const start = samples.get("completionist_process_start_time_seconds") ?? 0;
  expect(Math.abs(start - (Date.now() / 1000 - process.uptime()))).toBeLessThan(2);
});
