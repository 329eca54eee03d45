import { afterEach, describe, expect, test } from "vitest";
import { ApiError } from "../contract/errors.ts";
import {
  aborted,
  choicePart,
  fakeServer,
  gate,
  logprobsOf,
  partsOf,
  RecordedLog,
  type Script,
  usage,
} from "./testing/fake-server.ts";
import { chunksOf, listen, RawClient } from "./testing/raw-client.ts";

const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function started(...parameters: Parameters<typeof fakeServer>) {
  const app = fakeServer(...parameters);
  cleanups.push(() => app.close());
  const client = await RawClient.open(await listen(app));
  cleanups.push(() => client.close());
  return { app, client };
}

const twoTokens: Script = () =>
  partsOf([
    choicePart({ text: "a", logprobs: logprobsOf(["a"], 1) }, 1),
    choicePart({ text: "é", logprobs: logprobsOf(["é"], 2), finish_reason: "length" }, 2),
    { kind: "usage", usage: usage(2) },
  ]);

/** The JSON of every frame but the last, which must be [DONE]. */
function framesOf(chunks: readonly string[]) {
  expect(chunks.at(-1)).toBe("data: [DONE]\n\n");
  return chunks.slice(0, -1).map((chunk) => {
    expect(chunk).toMatch(/^data: \{[^\n]*\}\n\n$/);
    return JSON.parse(chunk.slice("data: ".length));
  });
}

function failAtOnce(error: Error): Iterable<never> {
  throw error;
}

const endOfAnswer = "\r\n0\r\n\r\n";

async function streamed(body: object, script = twoTokens) {
  const { client } = await started({}, script);
  client.post({ stream: true, ...body });
  const answer = await client.until(endOfAnswer);
  return { answer, chunks: chunksOf(answer) };
}

describe("frames", () => {
  test("are written one by one, whole, and end with [DONE]", async () => {
    const { answer, chunks } = await streamed({ logprobs: 1 });
    expect(chunks).toHaveLength(3);
    const frames = framesOf(chunks);
    const [first] = frames;
    expect(first).toEqual({
      id: expect.stringMatching(/^cmpl-/),
      object: "text_completion",
      created: expect.any(Number),
      choices: [
        {
          text: "a",
          index: 0,
          logprobs: {
            tokens: ["a"],
            token_logprobs: [-0.5],
            top_logprobs: [{ a: -0.5 }],
            text_offset: [1],
          },
          finish_reason: null,
        },
      ],
      model: "fake",
      system_fingerprint: "fp_fake",
    });
    for (const frame of frames) {
      const { id, object, created, model } = first;
      expect(frame).toMatchObject({ id, object, created, model });
    }
    expect(frames.map((frame) => frame.choices[0].finish_reason)).toEqual([null, "length"]);
    const head = answer.slice(0, answer.indexOf("\r\n\r\n")).toLowerCase();
    expect(head).toContain("http/1.1 200 ok");
    for (const header of [
      "content-type: text/event-stream",
      "cache-control: no-cache, must-revalidate",
      "x-accel-buffering: no",
      "openai-model: fake.q8_0",
      "openai-organization: completionist",
      "openai-version: 2020-10-01",
    ]) {
      expect(head.split("\r\n")).toContain(header);
    }
    expect(head).toMatch(/\r\nopenai-processing-ms: \d+\r\n/);
    expect(head).toMatch(/\r\nx-request-id: req_[0-9a-f]{32}\r\n/);
    expect(head).not.toContain("content-encoding");
  });

  test("are not compressed, even when the client takes gzip", async () => {
    const { client } = await started({}, twoTokens);
    client.post({ stream: true }, ["Accept-Encoding: gzip"]);
    expect(await client.until(endOfAnswer)).toContain("data: [DONE]");
  });

  test("keep the connection usable for the next request", async () => {
    const { client } = await started({}, twoTokens);
    client.post({ stream: true });
    await client.until(endOfAnswer);
    client.post({ prompt: "x" });
    expect(await client.until('"usage"')).toContain("content-type: application/json");
  });
});

describe("usage in streams", () => {
  const usages = (chunks: readonly string[]) => framesOf(chunks).map((frame) => frame.usage);

  test("is absent unless asked for", async () => {
    const frames = framesOf((await streamed({})).chunks);
    for (const frame of frames) expect(frame).not.toHaveProperty("usage");
  });

  test("is null on all chunks but a last one without choices", async () => {
    const { chunks } = await streamed({ stream_options: { include_usage: true } });
    expect(usages(chunks)).toEqual([null, null, usage(2)]);
    expect(framesOf(chunks).map((frame) => frame.choices.length)).toEqual([1, 1, 0]);
  });

  test("runs along with continuous_usage_stats", async () => {
    const options = { include_usage: true, continuous_usage_stats: true };
    expect(usages((await streamed({ stream_options: options })).chunks)).toEqual([
      usage(1),
      usage(2),
      usage(2),
    ]);
    const { chunks } = await streamed({ stream_options: { continuous_usage_stats: true } });
    expect(usages(chunks)).toEqual([usage(1), usage(2)]);
  });
});

describe("obfuscation", () => {
  test("evens out the sizes of chunks, only when asked for", async () => {
    const { chunks } = await streamed({ stream_options: { include_obfuscation: true } });
    for (const frame of framesOf(chunks)) {
      expect(frame.obfuscation).toMatch(/^[0-9A-Za-z]{1,128}$/);
      expect(Buffer.byteLength(JSON.stringify(frame)) % 128).toBe(0);
    }
    for (const frame of framesOf((await streamed({})).chunks)) {
      expect(frame).not.toHaveProperty("obfuscation");
    }
  });
});

describe("headers of a stream", () => {
  test("are sent when the run is admitted, before the first token", async () => {
    const admit = gate();
    const go = gate();
    const { client } = await started({}, async function* () {
      await admit.opened;
      yield { kind: "admitted" };
      await go.opened;
      yield choicePart({ text: "a", finish_reason: "stop" });
      yield { kind: "usage", usage: usage(1) };
    });
    client.post({ stream: true });
    admit.open();
    const head = await client.until("\r\n\r\n");
    expect(head).toContain("200 OK");
    expect(head).not.toContain("data:");
    go.open();
    await client.until("[DONE]");
  });

  test("are an HTTP error's when the run fails before", async () => {
    const { client } = await started({}, async function* () {
      yield* failAtOnce(new ApiError("overloaded", {}, { retry: { retryAfterMs: 10 } }));
    });
    client.post({ stream: true });
    const answer = await client.until("}}");
    expect(answer).toMatch(/^HTTP\/1\.1 503 /);
    expect(answer).toContain("content-type: application/json\r\n");
    expect(answer).toContain("retry-after-ms: 10\r\n");
  });
});

describe("a failure after the headers", () => {
  const failing = (error: Error): Script =>
    async function* () {
      yield { kind: "admitted" };
      yield choicePart({ text: "a" });
      throw error;
    };

  test("is one error frame, then [DONE]", async () => {
    const script = failing(new ApiError("modelFailed", { reason: "it ended" }));
    const frames = framesOf(
      (await streamed({ stream_options: { include_usage: true } }, script)).chunks,
    );
    expect(frames).toHaveLength(2);
    expect(frames[1]).toEqual({
      error: {
        message: "The model could not be loaded: it ended.",
        type: "server_error",
        param: null,
        code: "model_unavailable",
      },
    });
    expect(frames[0].choices[0].finish_reason).toBeNull();
  });

  test("that nobody expected hides its details and is logged", async () => {
    const log = new RecordedLog();
    const { client } = await started({ log }, failing(new Error("secret detail")));
    client.post({ stream: true });
    const answer = await client.until(endOfAnswer);
    expect(answer).toContain("The server had an error");
    expect(answer).not.toContain("secret");
    expect(log.lines.filter(({ level }) => level === "error")).toHaveLength(1);
  });

  test("is an error frame too when the run just ends", async () => {
    const { chunks } = await streamed({}, () => partsOf([choicePart({ text: "a" })]));
    expect(framesOf(chunks)[1].error.type).toBe("server_error");
  });

  test("caused by a shutdown says so", async () => {
    const shutdown = new AbortController();
    const { client } = await started({ shutdown: shutdown.signal }, async function* (_, signal) {
      yield { kind: "admitted" };
      yield choicePart({ text: "a" });
      await aborted(signal);
      throw new Error("aborted");
    });
    client.post({ stream: true });
    await client.until("data:");
    shutdown.abort();
    const frames = framesOf(chunksOf(await client.until(endOfAnswer)));
    expect(frames[1].error.code).toBe("server_shutting_down");
  });
});

describe("a client that leaves", () => {
  const waiting = (stopped: () => void): Script =>
    async function* (_, signal) {
      yield { kind: "admitted" };
      yield choicePart({ text: "a" });
      await aborted(signal);
      stopped();
      throw signal.reason;
    };

  test("in mid-stream aborts the run, and nothing is logged as an error", async () => {
    const stopped = gate();
    const log = new RecordedLog();
    const { app, client } = await started({ log }, waiting(stopped.open));
    client.post({ stream: true });
    await client.until("data:");
    client.close();
    await stopped.opened;
    await app.close();
    expect(log.lines.map(({ level }) => level)).toEqual(["info"]);
    expect(log.lines[0]?.fields).toMatchObject({ clientLeft: true });
  });

  test("before a response aborts the run, and nothing is logged as an error", async () => {
    const running = gate();
    const stopped = gate();
    const log = new RecordedLog();
    const { app, client } = await started({ log }, async function* (request, signal) {
      running.open();
      yield* waiting(stopped.open)(request, signal);
    });
    client.post({ prompt: "x" });
    await running.opened;
    client.close();
    await stopped.opened;
    await app.close();
    expect(log.lines.map(({ level }) => level)).toEqual(["info"]);
  });

  test("while the request waits to be admitted aborts it", async () => {
    const running = gate();
    const stopped = gate();
    const { client } = await started({}, async function* (_, signal) {
      running.open();
      await aborted(signal);
      stopped.open();
      if (signal.aborted) throw signal.reason;
      yield { kind: "admitted" };
    });
    client.post({ stream: true });
    await running.opened;
    client.close();
    await stopped.opened;
  });
});

describe("silence", () => {
  test("is broken by bare comment lines", async () => {
    const go = gate();
    const { client } = await started({ options: { keepAliveCommentMs: 1 } }, async function* () {
      yield { kind: "admitted" };
      await go.opened;
      yield choicePart({ text: "a", finish_reason: "stop" });
      yield { kind: "usage", usage: usage(1) };
    });
    client.post({ stream: true });
    await client.until("\r\n:\n\n\r\n");
    go.open();
    const chunks = chunksOf(await client.until(endOfAnswer));
    const comments = chunks.filter((chunk) => !chunk.startsWith("data: "));
    expect(new Set(comments)).toEqual(new Set([":\n\n"]));
    expect(framesOf(chunks.filter((chunk) => chunk.startsWith("data: ")))).toHaveLength(1);
  });
});

describe("a client that does not read", () => {
  const text = "x".repeat(64 * 1024);

  test("stops the run from being read, and is cut off after a while", async () => {
    const stopped = gate();
    let produced = 0;
    const { client } = await started(
      { options: { stalledClientMs: 50 } },
      async function* (_, signal) {
        signal.addEventListener("abort", stopped.open);
        yield { kind: "admitted" };
        while (!signal.aborted) {
          produced += 1;
          yield choicePart({ text });
        }
      },
    );
    client.stopReading();
    client.post({ stream: true });
    await stopped.opened;
    // What fits into the buffers of both sockets, and no more.
    expect(produced * text.length).toBeLessThan(64 * 1024 * 1024);
  });

  test("gets everything when it reads on", async () => {
    const parts = Array.from({ length: 200 }, () => choicePart({ text }));
    const { chunks } = await streamed({}, () =>
      partsOf([...parts, { kind: "usage", usage: usage(1) }]),
    );
    expect(framesOf(chunks)).toHaveLength(200);
  });
});
