/** Sections 18 and 19: cancelling, shutting down, and a dead engine. */
import { readFileSync } from "node:fs";
import { expect } from "vitest";
import { chunksOf, RawClient } from "../../../src/http/testing/raw-client.ts";
import { tinyGgufFile } from "../../../src/llama/testing/tiny-gguf.ts";
import { type ServerProcess, startServer } from "../../support/server-process.ts";
import { Api, errorOf, framesOf } from "../support/api.ts";
import { rulesOf } from "../support/rule.ts";
import type { Chunk } from "../support/wire.ts";

const rule = rulesOf(import.meta.url);

/** Long enough that it never ends by itself while a test looks at it. */
const endless = { prompt: "The river was", max_tokens: 8000, ignore_eos: true };

/** A server of its own, since it will be stopped or broken. */
async function ownServer(): Promise<{ process: ServerProcess; api: Api }> {
  const model = tinyGgufFile({ variant: "plain", contextLength: 8192 });
  const options = ["--threads", "1", "--drain", "0", "--context", "8192", "--model", model];
  const process = await startServer(options);
  return { process, api: new Api(process.url) };
}

/** A stream that has begun. */
async function openStream(api: Api): Promise<RawClient> {
  const client = await RawClient.open(api.port);
  client.post({ ...endless, stream: true }, ["Connection: close"]);
  await client.until("data: ");
  return client;
}

/** An answer that is not streamed, asked for before anything that comes later. */
async function openWhole(api: Api): Promise<RawClient> {
  const client = await RawClient.open(api.port);
  client.post(endless, ["Connection: close"]);
  return client;
}

/** Status, header lines and body of an answer. */
async function answerOf(client: RawClient) {
  const [head = "", text = ""] = (await client.end()).split("\r\n\r\n", 2);
  const [line = "", ...lines] = head.split("\r\n");
  const headers = new Headers(lines.map((each) => each.split(": ", 2) as [string, string]));
  return { status: Number(line.split(" ")[1]), headers, text };
}

/** The process that runs the engine, a child of the server's. */
function enginePid({ process: { pid } }: ServerProcess): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ");
  const isEngine = (child: string) =>
    readFileSync(`/proc/${child}/cmdline`, "utf8").includes("engine-process");
  return Number(children.find(isEngine));
}

/** The error of a stream that was cut: an error frame, [DONE], and no finish reason before. */
async function cutStreamError(client: RawClient) {
  const frames = framesOf(chunksOf(await client.end()).join(""));
  expect(frames.at(-1)).toBe("[DONE]");
  for (const frame of frames.slice(0, -2)) {
    const { choices } = JSON.parse(frame) as Chunk;
    expect(choices[0]?.finish_reason).toBeNull();
  }
  return errorOf(frames.at(-2) as string);
}

rule(
  "18.1",
  "A client that leaves ends its generation at once: what it used is free for the next request.",
  (prove) => {
    prove(
      "eight clients leave answers of thousands of tokens, and the next request is answered",
      async () => {
        const { process, api } = await ownServer();
        const clients = await Promise.all(Array.from({ length: 8 }, () => openStream(api)));
        for (const client of clients) client.close();
        const answer = await api.complete({ prompt: "A boat", max_tokens: 2, ignore_eos: true });
        expect(answer.usage.completion_tokens).toBe(2);
        await process.stop();
      },
    );

    prove("clients that leave before an answer that is not streamed", async () => {
      const { process, api } = await ownServer();
      const clients = await Promise.all(Array.from({ length: 7 }, () => openWhole(api)));
      // Once this one has begun, the requests above were taken too.
      clients.push(await openStream(api));
      for (const client of clients) client.close();
      const answer = await api.complete({ prompt: "A boat", max_tokens: 2, ignore_eos: true });
      expect(answer.usage.completion_tokens).toBe(2);
      await process.stop();
    });
  },
);

rule(
  "18.2",
  "A server that stops answers 503 and tells clients to try again, and when.",
  (prove) => {
    prove("retry-after, retry-after-ms and x-should-retry on a request that was cut", async () => {
      const { process, api } = await ownServer();
      const stream = await openStream(api);
      const pending = await openWhole(api);
      // Once this one has begun, the request above was taken too.
      await openStream(api);
      const stopped = process.stop();
      const { status, headers, text } = await answerOf(pending);
      expect(status).toBe(503);
      expect(errorOf(text)).toMatchObject({ type: "server_error", code: "server_shutting_down" });
      expect(headers.get("x-should-retry")).toBe("true");
      expect(Number(headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
      expect(Number(headers.get("retry-after-ms"))).toBeGreaterThanOrEqual(0);
      await stream.end();
      expect(await stopped).toBe(0);
    });
  },
);

rule(
  "19.1",
  "A stream that cannot go on ends with a frame that holds an error, then `[DONE]`; no choice gets a finish reason, and no usage is sent.",
  (prove) => {
    prove("when the server stops", async () => {
      const { process, api } = await ownServer();
      const stream = await openStream(api);
      const stopped = process.stop();
      const error = await cutStreamError(stream);
      expect(error).toMatchObject({
        type: "server_error",
        param: null,
        code: "server_shutting_down",
      });
      expect(await stopped).toBe(0);
    });

    prove("when the engine dies, and the next request is answered again", async () => {
      const { process, api } = await ownServer();
      const stream = await openStream(api);
      const pending = await openWhole(api);
      await openStream(api);
      globalThis.process.kill(enginePid(process), "SIGKILL");
      const error = await cutStreamError(stream);
      expect(error).toMatchObject({ type: "server_error", param: null, code: null });
      expect(error.message).toMatch(
        /^The server had an error processing your request\. Sorry about that!/,
      );
      const { status, text } = await answerOf(pending);
      expect(status).toBe(500);
      expect(errorOf(text)).toEqual(error);
      expect((await api.complete({ prompt: "A boat", max_tokens: 1 })).choices.length).toBe(1);
      await process.stop();
    });
  },
);
