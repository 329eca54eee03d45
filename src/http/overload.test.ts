/** What the server does when more is asked of it than it can do: every limit, and what one sees. */
import { once } from "node:events";
import { connect } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { ApiError } from "../contract/errors.ts";
import type { ServerOptions } from "./server-options.ts";
import {
  aborted,
  choicePart,
  fakeServer,
  gate,
  oneChoice,
  RecordedLog,
  type Script,
} from "./testing/fake-server.ts";
import { chunksOf, listen, RawClient } from "./testing/raw-client.ts";
import { endOfAnswer, framesOf } from "./testing/streams.ts";

const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function started(options: Partial<ServerOptions>, script: Script = () => oneChoice("Hi")) {
  const app = fakeServer({ options, log: new RecordedLog() }, script);
  cleanups.push(() => app.close());
  const port = await listen(app);
  const client = async () => {
    const raw = await RawClient.open(port);
    cleanups.push(() => raw.close());
    return raw;
  };
  return { app, port, client };
}

const metricsOf = async (app: ReturnType<typeof fakeServer>): Promise<string> =>
  (await app.inject({ method: "GET", url: "/metrics", headers: { host: "localhost" } })).body;

/** One token, then nothing until it is told to end. */
const endless: Script = async function* (_, signal) {
  yield { kind: "admitted" };
  yield choicePart({ text: "a" });
  await aborted(signal);
  throw signal.reason;
};

describe("a request that takes too long", () => {
  const limit = { requestTimeMsMax: 30 };

  test("is answered with 504, and its client is told not to send it again", async () => {
    const { client } = await started(limit, endless);
    const raw = await client();
    raw.post({});
    const answer = await raw.until("}}");
    expect(answer).toMatch(/^HTTP\/1\.1 504 /);
    expect(answer).toContain("\r\nx-should-retry: false\r\n");
    expect(answer).not.toContain("retry-after");
    expect(answer).toContain('"code":"deadline_exceeded"');
    expect(answer).toContain("longer than 0.03 seconds");
  });

  test("ends with an error frame when it is streamed", async () => {
    const { client } = await started(limit, endless);
    const raw = await client();
    raw.post({ stream: true });
    const frames = framesOf(chunksOf(await raw.until(endOfAnswer)));
    expect(frames.at(-1).error.code).toBe("deadline_exceeded");
    expect(frames[0].choices[0].finish_reason).toBeNull();
  });

  test("may give itself less time by a header, in seconds", async () => {
    const { client } = await started({}, endless);
    const raw = await client();
    raw.post({}, ["x-completionist-timeout: 0.025"]);
    expect(await raw.until("}}")).toContain("longer than 0.025 seconds");
  });

  test("cannot give itself more", async () => {
    const { client } = await started(limit, endless);
    const raw = await client();
    raw.post({}, ["x-completionist-timeout: 3600"]);
    expect(await raw.until("}}")).toContain("longer than 0.03 seconds");
  });

  test.each(["0", "-1", "soon", "", "1e3", "Infinity", "1s"])("%j is no time", async (given) => {
    const app = fakeServer();
    cleanups.push(() => app.close());
    const answer = await app.inject({
      method: "POST",
      url: "/v1/completions",
      headers: { host: "localhost", "x-completionist-timeout": given },
      payload: "{}",
    });
    expect(answer.statusCode).toBe(400);
    expect(answer.json().error.message).toContain("x-completionist-timeout must be a number");
  });

  test("ends while its model is being loaded, too", async () => {
    const app = fakeServer({
      options: limit,
      startCompletion: () => new Promise(() => {}),
    });
    cleanups.push(() => app.close());
    const headers = { host: "localhost", "content-type": "application/json" };
    const answer = await app.inject({
      ...{ method: "POST", url: "/v1/completions", headers, payload: "{}" },
    });
    expect(answer.statusCode).toBe(504);
  });
});

describe("connections beyond the limit", () => {
  test("are closed without an answer, and counted", async () => {
    const { app, port, client } = await started({ connectionsMax: 1 });
    const first = await client();
    const second = connect(port, "127.0.0.1");
    second.on("error", () => {});
    await once(second, "close");
    expect(second.bytesRead).toBe(0);
    first.post({});
    await first.until('"usage"');
    expect(await metricsOf(app)).toContain("completionist_connections_refused_total 1");
  });
});

describe("requests that pile up on one connection", () => {
  test("get a 503 with a hint when too many wait for their answers", async () => {
    const go = gate();
    const app = fakeServer({ options: { pipelinedRequestsMax: 2 } }, async function* () {
      await go.opened;
      yield* oneChoice("Hi");
    });
    cleanups.push(() => app.close());
    let refused = 0;
    // Their turn comes after the answers before them, but they are refused before those are ready.
    app.addHook("onSend", async (_, reply) => {
      if (reply.statusCode === 503) refused += 1;
      if (refused === 2) setImmediate(go.open);
    });
    const raw = await RawClient.open(await listen(app));
    cleanups.push(() => raw.close());
    for (let request = 0; request < 4; request++) {
      raw.post({}, request === 3 ? ["Connection: close"] : []);
    }
    const answers = await raw.end();
    expect(answers.match(/HTTP\/1\.1 \d+/g)).toEqual([
      "HTTP/1.1 200",
      "HTTP/1.1 200",
      "HTTP/1.1 503",
      "HTTP/1.1 503",
    ]);
    expect(answers).toContain("retry-after-ms: 1000");
  });

  test("count only until they are answered", async () => {
    const { client } = await started({ pipelinedRequestsMax: 1 });
    const raw = await client();
    for (let request = 1; request <= 3; request++) {
      raw.post({ prompt: String(request) });
      while ((raw.received.match(/"usage"/g) ?? []).length < request) {
        await new Promise((resolve) => setImmediate(resolve));
      }
    }
    expect(raw.received.match(/HTTP\/1\.1 \d+/g)).toEqual(Array(3).fill("HTTP/1.1 200"));
  });
});

describe("bodies of many requests at once", () => {
  const body = JSON.stringify({ prompt: "x".repeat(40_000) });
  const head = (length: number) =>
    "POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n" +
    `Content-Length: ${length}\r\n\r\n`;

  test("get a 503 with a hint when all together are too large, and room when others end", async () => {
    const [running, go] = [gate(), gate()];
    const { client } = await started({ heldBodyBytesMax: 60_000 }, async function* () {
      running.open();
      await go.opened;
      yield* oneChoice("Hi");
    });
    const first = await client();
    first.send(head(body.length) + body);
    await running.opened;
    const second = await client();
    second.send(head(body.length) + body);
    const refusal = await second.until("}}");
    expect(refusal).toMatch(/^HTTP\/1\.1 503 /);
    expect(refusal).toContain("retry-after-ms: 1000");
    go.open();
    await first.until('"usage"');
    const third = await client();
    third.send(head(body.length) + body);
    expect(await third.until('"usage"')).toMatch(/^HTTP\/1\.1 200 /);
  });

  test("count what has come, not what was announced: slow senders hold no room", async () => {
    const { client } = await started({ heldBodyBytesMax: 60_000 });
    for (let slow = 0; slow < 5; slow++) (await client()).send(`${head(50_000)}{`);
    const raw = await client();
    raw.send(head(body.length) + body);
    expect(await raw.until('"usage"')).toMatch(/^HTTP\/1\.1 200 /);
  });

  test("that end in the middle give their room back", async () => {
    const { client } = await started({ heldBodyBytesMax: 60_000 });
    for (let attempt = 0; attempt < 3; attempt++) {
      const left = await client();
      left.send(head(body.length + 1) + body);
      left.finish();
      await left.end();
    }
    const raw = await client();
    raw.send(head(body.length) + body);
    expect(await raw.until('"usage"')).toMatch(/^HTTP\/1\.1 200 /);
  });
});

describe("slow senders", () => {
  test.each([
    ["a header", "POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "],
    [
      "a body",
      "POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000000\r\n\r\n",
    ],
  ])("many that trickle %s are cut together, in time", async (_, beginning) => {
    const limits = { headersTimeoutMs: 150, requestTimeoutMs: 150, timeoutCheckMs: 20 };
    const { client } = await started(limits);
    const many = await Promise.all(Array.from({ length: 30 }, client));
    for (const raw of many) raw.send(beginning);
    const trickle = setInterval(() => {
      for (const raw of many) raw.send("x");
    }, 20);
    cleanups.push(() => clearInterval(trickle));
    for (const raw of many) expect(await raw.end()).toMatch(/^HTTP\/1\.1 408 /);
    const other = await client();
    other.post({});
    await other.until('"usage"');
  });
});

describe("slow readers", () => {
  test("of an answer that is not streamed are cut, and what was kept for them is let go", async () => {
    const text = "x".repeat(40_000_000);
    const { app, client } = await started({ stalledClientMs: 100 }, () => oneChoice(text));
    const raw = await client();
    raw.post({});
    await raw.until("HTTP/1.1 200");
    raw.stopReading();
    // Closing waits for connections that are at work: it ends because this one was given up.
    await app.close();
  });

  test("who read at last get all of it", async () => {
    const text = "x".repeat(10_000_000);
    const { client } = await started({ stalledClientMs: 60_000 }, () => oneChoice(text));
    const raw = await client();
    raw.post({});
    await raw.until("HTTP/1.1 200");
    raw.stopReading();
    await new Promise((resolve) => setImmediate(resolve));
    raw.startReading();
    expect((await raw.until('"usage"')).length).toBeGreaterThan(text.length);
  });

  test("hold no work beyond its time: a full buffer does not keep an ended run", async () => {
    const ended = gate();
    const { client } = await started(
      { requestTimeMsMax: 200, stalledClientMs: 60_000 },
      async function* (_, signal) {
        yield { kind: "admitted" };
        try {
          while (!signal.aborted) yield choicePart({ text: "x".repeat(1_000_000) });
          throw signal.reason;
        } finally {
          ended.open();
        }
      },
    );
    const raw = await client();
    raw.post({ stream: true });
    await raw.until("HTTP/1.1 200");
    raw.stopReading();
    await ended.opened;
  });
});

test("a model that could not be loaded is not asked again", async () => {
  const { client } = await started({}, async function* () {
    yield* [];
    throw new ApiError("modelFailed", { reason: "no" }, { retry: { shouldRetry: false } });
  });
  const raw = await client();
  raw.post({});
  expect(await raw.until("}}")).toContain("\r\nx-should-retry: false\r\n");
});
