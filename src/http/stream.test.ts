import { describe, expect, test } from "vitest";
import { ApiError } from "../contract/errors.ts";
import { choicePart, gate, usage } from "./testing/fake-server.ts";
import { endOfAnswer, framesOf, started, streamed, twoTokens } from "./testing/streams.ts";

function failAtOnce(error: Error): Iterable<never> {
  throw error;
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
