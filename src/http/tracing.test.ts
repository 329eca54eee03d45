import { afterEach, describe, expect, test } from "vitest";
import type { Access } from "../access/access.ts";
import { anybody, unrecordedAccess } from "../access/unrecorded-access.ts";
import { ApiError } from "../contract/errors.ts";
import { openTracing } from "../observe/open-tracing.ts";
import { OtlpCollector } from "../observe/testing/otlp-collector.ts";
import type { Tracing } from "../observe/tracing.ts";
import {
  choicePart,
  fakeServer,
  gate,
  partsOf,
  RecordedLog,
  type Script,
  usage,
} from "./testing/fake-server.ts";
import { listen } from "./testing/raw-client.ts";

const cleanup: (() => unknown)[] = [];

afterEach(async () => {
  for (const end of cleanup.splice(0).reverse()) await end();
});

const secret = "the-secret-of-the-prompt";
const answer: Script = () =>
  partsOf([
    choicePart({ text: `${secret}-answered` }, 1),
    choicePart({ finish_reason: "length" }, 2),
    { kind: "usage", usage: usage(2) },
  ]);

interface Setup {
  readonly script?: Script;
  readonly access?: Access;
  readonly answers?: "ok" | "never" | 500;
  readonly environment?: Readonly<Record<string, string>>;
}

async function traced(setup: Setup = {}) {
  const { script = answer, answers = "ok", environment = {}, access } = setup;
  const collector = await OtlpCollector.start(answers);
  cleanup.push(() => collector.close());
  const warnings: object[] = [];
  const tracing: Tracing = await openTracing({
    environment: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, ...environment },
    version: "1.2.3",
    log: { info: () => {}, warn: (fields) => warnings.push(fields) },
  });
  cleanup.push(() => tracing.close());
  const log = new RecordedLog();
  const app = fakeServer({ tracing, log, ...(access === undefined ? {} : { access }) }, script);
  cleanup.push(() => app.close());
  const url = `http://127.0.0.1:${await listen(app)}`;
  const complete = async (body: object, headers: Record<string, string> = {}) => {
    const response = await fetch(`${url}/v1/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
    });
    return { status: response.status, text: await response.text() };
  };
  /** Sends what there is, once the requests' connections are done with them. */
  const spans = async () => {
    await app.close();
    await tracing.close();
    return collector.spans;
  };
  return { log, collector, complete, spans, url, warnings };
}

const traceId = "0af7651916cd43dd8448eb211c80319c";
const callerSpan = "b7ad6b7169203331";

describe("a request", () => {
  test("is a span by the HTTP conventions, inside the trace of its caller", async () => {
    const { complete, spans } = await traced();
    await complete(
      { prompt: secret },
      { traceparent: `00-${traceId}-${callerSpan}-01`, tracestate: "a=b", "user-agent": "tester" },
    );
    const span = (await spans()).find(({ kind }) => kind === 2);
    expect(span).toMatchObject({
      name: "POST /v1/completions",
      traceId,
      parentSpanId: callerSpan,
      traceState: "a=b",
      status: 0,
      attributes: {
        "http.request.method": "POST",
        "http.route": "/v1/completions",
        "url.path": "/v1/completions",
        "url.scheme": "http",
        "network.protocol.version": "1.1",
        "user_agent.original": "tester",
        "http.response.status_code": 200,
        "completionist.request.id": expect.stringMatching(/^req_[\da-f]{32}$/),
      },
      resource: { "service.name": "completionist", "service.version": "1.2.3" },
    });
    expect(span?.endNs).toBeGreaterThanOrEqual(span?.startNs ?? 0n);
  });

  test.each([
    "00-00000000000000000000000000000000-b7ad6b7169203331-01",
    `ff-${traceId}-${callerSpan}-01`,
    `00-${traceId}-${callerSpan}-01-more`,
    `00-${traceId.toUpperCase()}-${callerSpan}-01`,
    "nonsense",
  ])("begins a trace of its own where traceparent is %s", async (traceparent) => {
    const { complete, spans } = await traced();
    await complete({ prompt: "a" }, { traceparent });
    const [span] = await spans();
    expect(span?.traceId).toMatch(/^[\da-f]{32}$/);
    expect(span?.traceId).not.toBe(traceId);
  });

  test("is left out where its caller says so", async () => {
    const { complete, spans } = await traced();
    await complete({ prompt: "a" }, { traceparent: `00-${traceId}-${callerSpan}-00` });
    expect(await spans()).toEqual([]);
  });

  test("of a client's mistake has its error, and is no failure of the server", async () => {
    const { complete, spans } = await traced();
    await complete({ prompt: "a", max_tokens: -1 });
    const [span] = await spans();
    expect(span?.attributes).toMatchObject({ "http.response.status_code": 400 });
    expect(span?.attributes["error.type"]).toEqual(expect.any(String));
    expect(span?.status).toBe(0);
  });

  test("names the key of its caller, by row and name, in span and log", async () => {
    const principal = { ...anybody, keyId: "key_7", name: "team" };
    const access = { ...unrecordedAccess([secret]), authenticate: async () => principal };
    const { complete, spans, collector, log } = await traced({ access });
    await complete({ prompt: "a" }, { authorization: `Bearer ${secret}` });
    const span = (await spans()).find(({ kind }) => kind === 2);
    expect(span?.attributes).toMatchObject({
      "completionist.key.id": "key_7",
      "completionist.key.name": "team",
    });
    for (const { body } of collector.posts) expect(body.includes(secret)).toBe(false);
    const line = log.lines.find(({ fields }) => fields.path === "/v1/completions");
    expect(line?.fields).toMatchObject({ keyId: "key_7", keyName: "team" });
    expect(JSON.stringify(log.lines)).not.toContain(secret);
  });

  test("without a route has no name of its own, and no query", async () => {
    const { spans, url } = await traced();
    await (await fetch(`${url}/nowhere?key=${secret}`)).text();
    const [span] = await spans();
    expect(span?.name).toBe("GET");
    expect(span?.attributes["url.path"]).toBe("/nowhere");
    expect(JSON.stringify(span?.attributes)).not.toContain(secret);
  });
});

describe("a completion", () => {
  test("is a span by the conventions for generative models, inside its request's", async () => {
    const { complete, spans } = await traced();
    await complete({
      model: "davinci-002",
      prompt: [secret, secret],
      max_tokens: 7,
      temperature: 0.5,
      top_p: 0.9,
      frequency_penalty: 0.25,
      presence_penalty: -0.5,
      stop: ["###"],
      seed: 42,
      n: 2,
      stream: true,
    });
    const all = await spans();
    const request = all.find(({ kind }) => kind === 2);
    const span = all.find(({ kind }) => kind === 1);
    expect(span).toMatchObject({
      name: "text_completion davinci-002",
      traceId: request?.traceId,
      parentSpanId: request?.spanId,
      status: 0,
      attributes: {
        "gen_ai.operation.name": "text_completion",
        "gen_ai.provider.name": "completionist",
        "gen_ai.system": "completionist",
        "gen_ai.request.model": "davinci-002",
        "gen_ai.request.max_tokens": 7,
        "gen_ai.request.temperature": 0.5,
        "gen_ai.request.top_p": 0.9,
        "gen_ai.request.frequency_penalty": 0.25,
        "gen_ai.request.presence_penalty": -0.5,
        "gen_ai.request.stop_sequences": ["###"],
        "gen_ai.request.seed": 42,
        "gen_ai.request.choice.count": 4,
        "gen_ai.request.stream": true,
        "gen_ai.response.model": "fake.Q8_0",
        "gen_ai.response.id": expect.stringMatching(/^cmpl-/),
        "gen_ai.response.finish_reasons": ["length"],
        "gen_ai.usage.input_tokens": 3,
        "gen_ai.usage.output_tokens": 2,
        "gen_ai.usage.cache_read.input_tokens": 0,
      },
    });
    expect(span?.events.map(({ name }) => name)).toEqual([
      "completionist.admitted",
      "completionist.first_token",
    ]);
  });

  test("has neither prompts nor texts nor the user in it", async () => {
    const { complete, spans, collector } = await traced();
    await complete({ prompt: secret, suffix: secret, user: secret });
    expect((await spans()).length).toBe(2);
    for (const { body } of collector.posts) expect(body.includes(secret)).toBe(false);
  });

  test("that fails inside of a stream is an error in both spans", async () => {
    const { complete, spans } = await traced({
      script: async function* () {
        yield { kind: "admitted" };
        throw new ApiError("overloaded");
      },
    });
    expect((await complete({ prompt: "a", stream: true })).status).toBe(200);
    const all = await spans();
    expect(all.map(({ status }) => status)).toEqual([2, 2]);
    const errors = all.map(({ attributes }) => attributes["error.type"]);
    expect(errors).toEqual(["overloaded", "overloaded"]);
  });

  test("whose client leaves is none", async () => {
    const left = gate();
    const { spans, url } = await traced({
      script: async function* (_, signal) {
        yield { kind: "admitted" };
        yield choicePart({ text: "a" });
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        left.open();
        throw signal.reason;
      },
    });
    const client = new AbortController();
    const response = await fetch(`${url}/v1/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ prompt: "a", stream: true }),
      signal: client.signal,
    });
    await response.body?.getReader().read();
    client.abort();
    await left.opened;
    const all = await spans();
    expect(all.map(({ status }) => status)).toEqual([0, 0]);
    const errors = all.map(({ attributes }) => attributes["error.type"]);
    expect(errors).toEqual(["client_left", "client_left"]);
  });
});

/** Nothing listens on the first port. */
const goneUrl = "http://127.0.0.1:1";

describe("a collector", () => {
  test("that never answers holds up neither requests nor the end", async () => {
    const environment = { OTEL_BSP_MAX_EXPORT_BATCH_SIZE: "1", OTEL_BSP_MAX_QUEUE_SIZE: "2" };
    const { complete, spans, collector } = await traced({ answers: "never", environment });
    for (let request = 0; request < 20; request += 1) {
      expect((await complete({ prompt: "a" })).status).toBe(200);
    }
    await spans();
    // 40 spans were there to be sent; those that found the queue full were dropped.
    expect(collector.spans.length).toBeLessThan(10);
  }, 30_000);

  test.each([
    { what: "fails", setup: { answers: 500 } },
    { what: "is gone", setup: { environment: { OTEL_EXPORTER_OTLP_ENDPOINT: goneUrl } } },
  ] as const)(
    "that $what costs spans and one warning",
    async ({ setup }) => {
      const { complete, spans, warnings } = await traced(setup);
      expect((await complete({ prompt: "a" })).status).toBe(200);
      await spans();
      expect(warnings).toEqual([{ reason: expect.any(String) }]);
    },
    30_000,
  );
});
