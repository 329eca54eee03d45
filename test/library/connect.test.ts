/** The library against servers: what is sent, what streams are, what an abort does. */
import { describe, expect, test } from "vitest";
import { ApiError, ClientClosedError, ConnectionError, connect } from "../../src/index.ts";
import {
  answer,
  chunk,
  frames,
  overloaded,
  scriptedServer,
  sendJson,
  sse,
  testClient,
  textsOf,
} from "./support.ts";

describe("a request", () => {
  test("is sent as it is, with the key, and its answer given back", async () => {
    const server = await scriptedServer((response) => sendJson(response, 200, answer));
    const { client } = testClient(server.url);
    const request = { prompt: [[1, 2], [3]], max_tokens: 3, seed: undefined, top_k: 5 };
    expect(await client.create(request)).toEqual(answer);
    expect(server.asked).toMatchObject([
      {
        path: "/v1/completions",
        headers: { authorization: "Bearer key", "content-type": "application/json" },
        body: { prompt: [[1, 2], [3]], max_tokens: 3, top_k: 5, stream: false },
      },
    ]);
  });

  test("uses the connection of the last one, streams too", async () => {
    const server = await scriptedServer((response, index) => {
      if (index % 2 === 0) return sendJson(response, 200, answer);
      response.writeHead(200, sse).end(frames(chunk("a"), "[DONE]"));
    });
    const { client } = testClient(server.url);
    for (let times = 0; times < 3; times += 1) {
      await client.create({});
      expect(await textsOf(client.stream({}))).toEqual(["a"]);
    }
    expect(server.connections()).toBe(1);
  });

  test("for the other call is not sent", async () => {
    const { client } = testClient("http://127.0.0.1:1");
    await expect(client.create({ stream: true } as never)).rejects.toThrow(/call stream\(\)/);
    const stream = client.stream({ stream: false } as never);
    await expect(textsOf(stream)).rejects.toThrow(/call create\(\)/);
  });
});

describe("a stream", () => {
  async function streamOf(body: string, headers: Record<string, string> = sse) {
    const server = await scriptedServer(
      (response) => void response.writeHead(200, headers).end(body),
    );
    const read: string[] = [];
    const run = async () => {
      for await (const part of testClient(server.url).client.stream({ n: 1 })) {
        read.push(part.choices[0]?.text ?? "");
      }
    };
    return { read, ended: run(), server };
  }

  test("gives its chunks until [DONE]", async () => {
    const body = `:\n\n${frames(chunk("a"), chunk("b"), { ...answer, choices: [] }, "[DONE]")}`;
    const { read, ended, server } = await streamOf(body);
    await ended;
    expect(read).toEqual(["a", "b", ""]);
    expect(server.asked[0]?.body).toEqual({ n: 1, stream: true });
  });

  test("with an error frame throws it, after the chunks before", async () => {
    const { read, ended } = await streamOf(frames(chunk("a"), overloaded, "[DONE]"));
    await expect(ended).rejects.toBeInstanceOf(ApiError);
    await expect(ended).rejects.toMatchObject({ message: "Busy, try later.", status: 500 });
    expect(read).toEqual(["a"]);
  });

  test("with an event that is named error throws it", async () => {
    const { ended } = await streamOf(`event: error\ndata: {"message":"gone"}\n\n`);
    await expect(ended).rejects.toMatchObject({ message: "gone" });
  });

  test("with an empty error field is none the worse", async () => {
    const { read, ended } = await streamOf(frames({ ...chunk("a"), error: null }, "[DONE]"));
    await ended;
    expect(read).toEqual(["a"]);
  });

  test("that ends without [DONE] throws, after its chunks", async () => {
    const { read, ended } = await streamOf(frames(chunk("a")));
    await expect(ended).rejects.toBeInstanceOf(ConnectionError);
    await expect(ended).rejects.toMatchObject({ reason: "cut" });
    expect(read).toEqual(["a"]);
  });

  test.each([
    ["half a chunk", frames('{"choices":[')],
    ["something else", frames({ object: "other" })],
  ])("with %s in it throws", async (_, body) => {
    const { ended } = await streamOf(body);
    await expect(ended).rejects.toMatchObject({ reason: "malformed" });
  });

  test("that is an answer in one piece says so", async () => {
    const { ended } = await streamOf(JSON.stringify(answer), {
      "content-type": "application/json",
    });
    await expect(ended).rejects.toThrow(/it sent application\/json, no stream/);
  });

  test("that stays open behind its [DONE] is complete", async () => {
    const server = await scriptedServer((response) => {
      response.writeHead(200, sse).write(frames(chunk("a"), "[DONE]"));
    });
    expect(await textsOf(testClient(server.url).client.stream({}))).toEqual(["a"]);
  });

  test("that is left ends the request", async () => {
    const left = Promise.withResolvers<void>();
    const server = await scriptedServer((response) => {
      response.on("close", () => left.resolve());
      response.writeHead(200, sse).write(frames(chunk("a")));
    });
    for await (const _ of testClient(server.url).client.stream({})) break;
    await left.promise;
  });
});

describe("an abort", () => {
  const reason = new Error("enough");

  test("ends a request that waits for its answer", async () => {
    const controller = new AbortController();
    const server = await scriptedServer(() => controller.abort(reason));
    const { client } = testClient(server.url);
    await expect(client.create({}, { signal: controller.signal })).rejects.toBe(reason);
    await expect(client.create({}, { signal: controller.signal })).rejects.toBe(reason);
    expect(server.asked).toHaveLength(1);
  });

  test("ends a stream in the middle", async () => {
    const controller = new AbortController();
    const server = await scriptedServer((response) => {
      response.writeHead(200, sse).write(frames(chunk("a")));
    });
    const { client } = testClient(server.url);
    const read = async () => {
      for await (const _ of client.stream({}, { signal: controller.signal })) {
        controller.abort(reason);
      }
    };
    await expect(read()).rejects.toBe(reason);
  });

  test("ends the wait for the next try", async () => {
    const server = await scriptedServer((response) => {
      response.setHeader("retry-after-ms", "60000");
      sendJson(response, 503, overloaded);
      queueMicrotask(() => setImmediate(() => controller.abort(reason)));
    });
    const controller = new AbortController();
    await using client = connect({ baseUrl: `${server.url}/v1` });
    await expect(client.create({}, { signal: controller.signal })).rejects.toBe(reason);
  });

  test("is what closing the client does", async () => {
    const server = await scriptedServer(() => void client.close());
    const { client } = testClient(server.url);
    await expect(client.create({})).rejects.toBeInstanceOf(ClientClosedError);
    await expect(textsOf(client.stream({}))).rejects.toBeInstanceOf(ClientClosedError);
  });
});

test.each(["one signal", "none"])(
  "many requests with %s at once are no leak of listeners",
  async (how) => {
    const warnings: Error[] = [];
    const note = (warning: Error) => warnings.push(warning);
    process.on("warning", note);
    const server = await scriptedServer((response) => sendJson(response, 200, answer));
    const { client } = testClient(server.url);
    const { signal } = new AbortController();
    const options = how === "none" ? {} : { signal };
    await Promise.all(Array.from({ length: 30 }, () => client.create({}, options)));
    process.off("warning", note);
    expect(warnings).toEqual([]);
  },
);

describe("tokens", () => {
  test("are asked under /v1, else beside it", async () => {
    const server = await scriptedServer((response, _, { path, body }) => {
      if (path.startsWith("/v1/")) sendJson(response, 404, { detail: "Not Found" });
      else if (path === "/tokenize") sendJson(response, 200, { tokens: [1, 2] });
      else sendJson(response, 200, { prompt: JSON.stringify(body.tokens) });
    });
    const { client } = testClient(server.url);
    expect(await client.tokenize("a", { addSpecial: false, model: "m" })).toEqual([1, 2]);
    expect(await client.detokenize([3])).toBe("[3]");
    expect(server.asked.map(({ path }) => path)).toEqual([
      "/v1/tokenize",
      "/tokenize",
      "/v1/detokenize",
      "/detokenize",
    ]);
    expect(server.asked[0]?.body).toEqual({ model: "m", prompt: "a", add_special_tokens: false });
  });
});

describe("scoring", () => {
  test("throws where the server leaves the prompt out", async () => {
    const logprobs = { tokens: ["a"], token_logprobs: [-1], top_logprobs: [{}], text_offset: [9] };
    const choices = [{ text: "a", index: 0, logprobs, finish_reason: "length" }];
    const usage = { prompt_tokens: 5, completion_tokens: 1, total_tokens: 6 };
    const server = await scriptedServer((response, index) => {
      sendJson(response, 200, index === 0 ? { ...answer, choices, usage } : answer);
    });
    const { client } = testClient(server.url);
    await expect(client.score("one two three")).rejects.toMatchObject({ reason: "malformed" });
    await expect(client.score("one two three")).rejects.toThrow(/needs `echo` and `logprobs`/);
  });
});
