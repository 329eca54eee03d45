import { describe, expect, test } from "vitest";
import { ApiError } from "../contract/errors.ts";
import {
  aborted,
  choicePart,
  gate,
  partsOf,
  RecordedLog,
  type Script,
  usage,
} from "./testing/fake-server.ts";
import { chunksOf } from "./testing/raw-client.ts";
import { endOfAnswer, framesOf, started, streamed } from "./testing/streams.ts";

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
