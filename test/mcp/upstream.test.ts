/** The tools in front of a completions server: our own one, and one that does everything wrong. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type ServerProcess, startServer } from "../support/server-process.ts";
import {
  type AgentHost,
  call,
  complete,
  completionTool,
  endless,
  engineOptions,
  errorOf,
  startHost,
  textsOf,
} from "./support/agent-host.ts";

describe("our own server", () => {
  let server: ServerProcess;
  let host: AgentHost;

  beforeAll(async () => {
    server = await startServer([...engineOptions(), "--api-key", "s3cret-key"]);
    host = await startHost(["--base-url", server.url], { COMPLETIONIST_API_KEY: "s3cret-key" });
    await host.client.listTools();
  });

  afterAll(async () => {
    await host?.close();
    await server?.stop();
  });

  test("answers, and what leaves the machine is said to", async () => {
    const { tools } = await host.client.listTools();
    expect(tools.map(({ annotations }) => annotations?.openWorldHint)).toEqual([true, true, true]);
    const result = await complete(host.client, { model: "example", prompt: "Hi", seed: 1 });
    expect(result.structuredContent).toMatchObject({ usage: { prompt_tokens: 2 } });
    expect(textsOf(result)).toHaveLength(1);
  });

  test("gives the same choices whether its stream is read for progress or not", async () => {
    const body = {
      ...{ model: "davinci-002", prompt: ["One", "Two"], n: 2, logprobs: 2, echo: true },
      ...{ max_tokens: 12, seed: 5, user: "u" },
    };
    const plain = await complete(host.client, body);
    const seen: { progress: number; total?: number | undefined }[] = [];
    const streamed = await host.client.callTool(
      { name: completionTool, arguments: { body } },
      undefined,
      { onprogress: (progress) => seen.push(progress) },
    );
    const { id: _, created: __, usage: ___, ...rest } = plain.structuredContent ?? {};
    expect(streamed.structuredContent).toMatchObject({ ...rest, usage: expect.any(Object) });
    expect(streamed.content).toEqual(plain.content);
    expect(seen[0]).toMatchObject({ progress: 0, total: 48 });
  });

  test("has scores and models", async () => {
    const scores = await call(host.client, "score", { input: "Hello" });
    expect(scores.structuredContent).toMatchObject({ perplexity: expect.any(Number) });
    const models = await call(host.client, "list_models", {});
    expect(textsOf(models)[0]).toContain("davinci-002");
  });

  test("is asked to stop when the call is cancelled, and is free at once", async () => {
    const cancelled = new AbortController();
    const running = host.client.callTool(
      { name: completionTool, arguments: { body: endless } },
      undefined,
      {
        signal: cancelled.signal,
        onprogress: ({ progress }) => progress > 0 && cancelled.abort("enough"),
      },
    );
    await expect(running).rejects.toThrow("enough");
    const next = await complete(host.client, { model: "example", prompt: "Hi", max_tokens: 1 });
    expect(next.isError).toBeUndefined();
  });

  test("passes its errors on, from an answer and from a stream", async () => {
    const error = { type: "invalid_request_error", code: "model_not_found", param: null };
    const body = { model: "nobody", prompt: "Hi" };
    expect(errorOf(await complete(host.client, body))).toMatchObject(error);
    const request = { name: completionTool, arguments: { body } };
    const streamed = await host.client.callTool(request, undefined, {
      onprogress: () => undefined,
    });
    expect(errorOf(streamed as Awaited<ReturnType<typeof complete>>)).toMatchObject(error);
  });

  test("refuses a wrong key", async () => {
    const other = await startHost(["--base-url", server.url, "--api-key", "other-key"]);
    try {
      expect(errorOf(await complete(other.client, { model: "m", prompt: "Hi" }))).toMatchObject({
        code: "invalid_api_key",
      });
    } finally {
      await other.close();
    }
  });
});

describe("a server that does not do what it should", () => {
  type Reply = (request: IncomingMessage, response: ServerResponse) => void;
  let reply: Reply = () => undefined;
  let server: Server;
  let host: AgentHost;

  beforeAll(async () => {
    server = createServer((request, response) => reply(request, response));
    await once(server.listen(0, "127.0.0.1"), "listening");
    const { port } = server.address() as AddressInfo;
    host = await startHost(["--base-url", `http://127.0.0.1:${port}/v1/`]);
    await host.client.listTools();
  });

  beforeEach(() => {
    reply = () => undefined;
  });

  afterAll(async () => {
    await host?.close();
    server?.closeAllConnections();
    server?.close();
  });

  const json = (status: number, value: unknown): Reply => {
    const text = typeof value === "string" ? value : JSON.stringify(value);
    return (_, response) => {
      response.writeHead(status, { "content-type": "application/json" }).end(text);
    };
  };

  const stream = (text: string): Reply => {
    return (_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" }).end(text);
    };
  };

  const ask = (body: object = {}, options: object = {}) =>
    host.client.callTool(
      { name: completionTool, arguments: { body: { model: "m", prompt: "Hi", ...body } } },
      undefined,
      options,
    ) as ReturnType<typeof complete>;

  const withProgress = { onprogress: () => undefined };

  const failed = (text: string) => ({
    type: "server_error",
    code: "upstream_failed",
    message: expect.stringContaining(text),
  });

  test("is asked at the address that was given, for the model that was named", async () => {
    const asked: string[] = [];
    reply = (request, response) => {
      asked.push(`${request.method} ${request.url}`);
      json(200, { choices: [{ text: "ok", index: 0 }] })(request, response);
    };
    expect(textsOf(await ask())).toEqual(["ok"]);
    expect(asked).toEqual(["POST /v1/completions"]);
  });

  test("means its first model where the example's name is given", async () => {
    const bodies: string[] = [];
    reply = (request, response) => {
      if (request.url === "/v1/models") {
        json(200, { object: "list", data: [{ id: "base-7b" }, { id: "other" }] })(
          request,
          response,
        );
        return;
      }
      let text = "";
      request.on("data", (data: Buffer) => {
        text += data.toString();
      });
      request.on("end", () => {
        bodies.push(JSON.parse(text).model);
        json(200, { choices: [{ text: "ok", index: 0 }] })(request, response);
      });
    };
    await ask({ model: "example" });
    await ask({ model: "other" });
    expect(bodies).toEqual(["base-7b", "other"]);
    reply = json(200, { object: "list", data: [] });
    expect(errorOf(await ask({ model: "example" }))).toMatchObject(failed("lists no model"));
  });

  test.each([
    ["an error without an envelope", json(502, "<html>"), failed("answered 502")],
    ["no JSON", json(200, "hello"), failed("no JSON object")],
    ["another value", json(200, [1]), failed("no JSON object")],
    [
      "an error of its own",
      json(429, { error: { message: "Slow down", type: "requests", code: 429 } }),
      { message: "Slow down", type: "requests", param: null, code: "429" },
    ],
    ["nothing", ((request) => request.socket.destroy()) as Reply, failed("cannot be reached")],
  ])("sends %s", async (_, given, error) => {
    reply = given;
    expect(errorOf(await ask())).toMatchObject(error);
  });

  const chunk = (choice: object) => `data: ${JSON.stringify({ id: "c", choices: [choice] })}\n\n`;

  test.each([
    [
      "no end",
      chunk({ index: 0, text: "Hi", finish_reason: null }),
      failed("before the completion"),
    ],
    ["nothing", "data: [DONE]\n\n", failed("before the completion")],
    ["no JSON", "data: hello\n\n", failed("no JSON object")],
    [
      "an error",
      `${chunk({ index: 0, text: "H" })}data: {"error":{"message":"broken","type":"t"}}\n\n`,
      { message: "broken", type: "t", param: null, code: null },
    ],
  ])("streams %s", async (_, text, error) => {
    reply = stream(text);
    expect(errorOf(await ask({}, withProgress))).toMatchObject(error);
  });

  test("answers whole when it was asked to stream", async () => {
    reply = json(200, { choices: [{ text: "whole", index: 0 }] });
    expect(textsOf(await ask({}, withProgress))).toEqual(["whole"]);
  });

  test("ignores echo, so that it has no scores", async () => {
    const choice = { index: 0, text: "generated", finish_reason: "length" };
    const message = "no logprobs of the prompt";
    for (const logprobs of [null, { tokens: ["g"], token_logprobs: [-1], text_offset: [0] }]) {
      reply = json(200, { model: "m", choices: [{ ...choice, logprobs }] });
      const result = await call(host.client, "score", { input: "A text", model: "m" });
      expect(errorOf(result)).toMatchObject(failed(message));
    }
  });
});

test("a server that is not there is an error of each call", async () => {
  const closed = createServer();
  await once(closed.listen(0, "127.0.0.1"), "listening");
  const { port } = closed.address() as AddressInfo;
  closed.close();
  await once(closed, "close");
  const host = await startHost(["--base-url", `http://127.0.0.1:${port}`]);
  try {
    const error = errorOf(await complete(host.client, { model: "m", prompt: "Hi" }));
    expect(error).toMatchObject({ message: expect.stringContaining("ECONNREFUSED") });
  } finally {
    await host.close();
  }
});
