/** One program, a model of its own or a server: the same answers. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type CompletionClient, connect, open } from "../../src/index.ts";
import { tinyGgufFile } from "../../src/llama/testing/tiny-gguf.ts";
import { type ServerProcess, startServer } from "../support/server-process.ts";

const model = tinyGgufFile();
let server: ServerProcess;
let clients: readonly CompletionClient[];

beforeAll(async () => {
  server = await startServer(["--model", model, "--threads", "1", "--slots", "2"]);
  clients = [
    await open({ model, threads: 1, slots: 2 }),
    connect({ baseUrl: `${server.url}/v1/` }),
  ];
});

afterAll(async () => {
  await Promise.all((clients ?? []).map((client) => client.close()));
  await server?.stop();
});

async function both<Result>(
  call: (client: CompletionClient) => Promise<Result>,
): Promise<Result[]> {
  return Promise.all(clients.map(call));
}

/** Without what no two answers share. */
const comparable = ({ id: _, created: __, ...rest }: { id: string; created: number }) => rest;

async function expectSame(call: (client: CompletionClient) => Promise<unknown>): Promise<unknown> {
  const [left, right] = await both(call);
  expect(left).toEqual(right);
  return left;
}

test("answers", async () => {
  await expectSame(async (client) =>
    comparable(await client.create({ prompt: "Hello", seed: 5, max_tokens: 6, logprobs: 3 })),
  );
});

test("chunks", async () => {
  const chunks = await expectSame(async (client) => {
    const list: object[] = [];
    const request = { prompt: "Hello", seed: 5, max_tokens: 6, logprobs: 0 };
    for await (const chunk of client.stream(request)) list.push(comparable(chunk));
    return list;
  });
  expect(chunks).toHaveLength(6);
});

test("scores, tokens and texts", async () => {
  await expectSame((client) => client.score("Hello there", { alternatives: 2 }));
  const ids = await expectSame((client) => client.tokenize("Hello there"));
  expect(await expectSame((client) => client.detokenize(ids as number[]))).toBe("Hello there");
});

test("errors", async () => {
  const wrong = [{ max_tokens: -1 }, { model: "no-such-model" }, { prompt: [1e6] }];
  for (const request of wrong) {
    await expectSame(async (client) => {
      const error = await client.create(request).catch((thrown) => thrown);
      return { status: error.status, name: error.name, body: error.body() };
    });
  }
});
