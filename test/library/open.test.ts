/** The library on a tiny model: the answers of the server, without a server. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  ApiError,
  type CompletionChunk,
  type CreateParameters,
  type OpenedModelClient,
  open,
  type StreamParameters,
} from "../../src/index.ts";
import { tinyGgufFile } from "../../src/llama/testing/tiny-gguf.ts";
import { type ServerProcess, startServer } from "../support/server-process.ts";

const model = tinyGgufFile({ contextLength: 2048 });
const openTiny = () => open({ model, threads: 1, slots: 4 });
let client: OpenedModelClient;

beforeAll(async () => {
  client = await openTiny();
});

afterAll(async () => {
  await client?.close();
});

async function all(chunks: AsyncIterable<CompletionChunk>): Promise<CompletionChunk[]> {
  const list: CompletionChunk[] = [];
  for await (const chunk of chunks) list.push(chunk);
  return list;
}

/** The error of a call from a program without types. */
async function refusal(request: unknown): Promise<unknown> {
  return client.create(request as CreateParameters).then(
    () => undefined,
    (error: unknown) => error,
  );
}

const endless = { prompt: "a", max_tokens: 1900, ignore_eos: true } as const;

describe("answers are those of the server, field by field", () => {
  let server: ServerProcess;
  beforeAll(async () => {
    server = await startServer(["--model", model, "--threads", "1", "--slots", "4"]);
  });
  afterAll(async () => {
    await server?.stop();
  });

  const requests: readonly CreateParameters[] = [
    { prompt: "Hello there", seed: 7, max_tokens: 5, logprobs: 2 },
    { prompt: ["one", "two"], seed: 1, n: 2, max_tokens: 3, stop: "e" },
    { prompt: [5, 6, 7], echo: true, logprobs: 5, max_tokens: 0, model: "davinci-002" },
    { seed: 3, best_of: 3, max_tokens: 4, temperature: 1.5, user: "me" },
    { prompt: "a", suffix: "b", seed: 9, max_tokens: 3 },
  ];

  async function ask(body: object): Promise<Response> {
    return fetch(`${server.url}/v1/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  }

  const same = { id: expect.stringMatching(/^cmpl-/), created: expect.any(Number) };
  const usage = expect.objectContaining({ total_tokens: expect.any(Number) });

  test.each(requests)("%j", async (request) => {
    const expected = (await (await ask(request)).json()) as object;
    expect(await client.create(request)).toEqual({ ...expected, ...same, usage });
  });

  test("chunks too", async () => {
    const request: StreamParameters = {
      prompt: "Hello",
      seed: 4,
      n: 1,
      max_tokens: 6,
      logprobs: 1,
      stream_options: { include_usage: true },
    };
    const text = await (await ask({ ...request, stream: true })).text();
    const frames = text.split("\n\n").filter((frame) => frame.startsWith("data: {"));
    const expected = frames.map((frame) => JSON.parse(frame.slice(6)));
    const chunks = await all(client.stream(request));
    const comparable = (chunk: CompletionChunk) => ({ ...chunk, ...same, usage: null });
    expect(chunks.map(comparable)).toEqual(expected.map(comparable));
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { completion_tokens: 6 } });
  });

  test.each([
    { max_tokens: -1 },
    { temperature: 3 },
    { n: "two" },
    { model: "no-such-model" },
    { prompt: [999_999] },
    { prompt: "a", max_tokens: 100_000 },
    { prompt: [] },
    { best_of: 1, n: 2 },
    [["a list"]],
  ])("errors of %j too", async (request) => {
    const answer = await ask(request);
    const error = await refusal(request);
    expect(error).toBeInstanceOf(ApiError);
    const { status } = error as ApiError;
    expect([status, (error as ApiError).body()]).toEqual([answer.status, await answer.json()]);
  });
});

describe("a request", () => {
  test("may say nothing", async () => {
    const answer = await client.create({});
    expect(answer.model).toBe(client.model);
    expect(answer.usage.prompt_tokens).toBe(1);
  });

  test("with a field that does not exist is refused", async () => {
    expect(await refusal({ prompt: "a", max_token: 3 })).toMatchObject({
      status: 400,
      message: "Unrecognized request argument supplied: max_token",
    });
  });

  test("with fields that are undefined has none", async () => {
    const request = { prompt: undefined, max_tokens: undefined, nothing: undefined };
    expect(await refusal(request)).toBeUndefined();
  });

  test("for the other call is told so", async () => {
    const message = /call stream\(\)/;
    await expect(client.create({ stream: true } as never)).rejects.toThrow(message);
    await expect(all(client.stream({ stream: false } as never))).rejects.toThrow(/call create\(\)/);
  });
});

describe("scoring", () => {
  test("gives each token's logprob, their sum and the perplexity", async () => {
    const text = "The quick brown fox";
    const [score, echo, ids] = await Promise.all([
      client.score(text),
      client.create({ prompt: text, echo: true, logprobs: 0, max_tokens: 0 }),
      client.tokenize(text),
    ]);
    const logprobs = echo.choices[0]?.logprobs?.token_logprobs ?? [];
    const sum = logprobs.reduce<number>((total, logprob) => total + (logprob ?? 0), 0);
    expect(score.tokens.map((token) => token.logprob)).toEqual(logprobs);
    expect(score.tokens.map((token) => token.text).join("")).toBe(text);
    expect(score.tokens).toHaveLength(ids.length);
    expect(score.tokens[0]).toMatchObject({ logprob: null, offset: 0, alternatives: null });
    expect(score.scoredTokens).toBe(ids.length - 1);
    expect(score.total).toBeCloseTo(sum, 10);
    expect(score.perplexity).toBeCloseTo(Math.exp(-sum / (ids.length - 1)), 10);
  });

  test("of token ids is that of their text", async () => {
    const text = "Hello there";
    const ids = await client.tokenize(text);
    const [left, right] = await Promise.all([client.score(text), client.score(ids)]);
    expect(left).toEqual(right);
  });

  test("lists alternatives, the token itself among them", async () => {
    const { tokens } = await client.score("Hello", { alternatives: 3 });
    for (const { text, logprob, alternatives } of tokens.slice(1)) {
      expect(alternatives?.[text]).toBe(logprob);
      expect(Object.keys(alternatives ?? {}).length).toBeGreaterThanOrEqual(3);
    }
    await expect(client.score("Hello", { alternatives: 6 })).rejects.toMatchObject({
      status: 400,
      param: "logprobs",
    });
  });

  test("of a single token has no perplexity", async () => {
    const score = await client.score([5]);
    expect(score).toMatchObject({ scoredTokens: 0, total: 0, perplexity: Number.NaN });
  });
});

test("token ids become the text again that they were made of", async () => {
  const text = 'naïve 适 <|endoftext|> "x"';
  const ids = await client.tokenize(text);
  expect(await client.detokenize(ids)).toBe(text);
  await expect(client.detokenize([1_000_000])).rejects.toMatchObject({ status: 400 });
  await expect(client.tokenize(5 as never)).rejects.toMatchObject({ param: "prompt" });
});

describe("an abort", () => {
  test("ends a call with its reason", async () => {
    const controller = new AbortController();
    const pending = client.create(endless, { signal: controller.signal });
    const reason = new Error("enough");
    controller.abort(reason);
    await expect(pending).rejects.toBe(reason);
    await expect(client.score("a", { signal: controller.signal })).rejects.toBe(reason);
    await expect(client.tokenize("a", { signal: controller.signal })).rejects.toBe(reason);
  });

  test("ends a stream between two chunks", async () => {
    const controller = new AbortController();
    const reason = new Error("enough");
    let seen = 0;
    const read = async () => {
      for await (const _ of client.stream(endless, { signal: controller.signal })) {
        if (++seen === 2) controller.abort(reason);
      }
    };
    await expect(read()).rejects.toBe(reason);
    expect(seen).toBe(2);
  });

  test("does no harm after the end", async () => {
    const controller = new AbortController();
    await client.create({ max_tokens: 1 }, { signal: controller.signal });
    controller.abort();
    expect(await client.create({ max_tokens: 1 })).toMatchObject({ object: "text_completion" });
  });
});

test.each(["one signal", "none"])(
  "many calls with %s at once are no leak of listeners",
  async (how) => {
    const warnings: Error[] = [];
    const note = (warning: Error) => warnings.push(warning);
    process.on("warning", note);
    const { signal } = new AbortController();
    const options = how === "none" ? {} : { signal };
    const calls = Array.from({ length: 30 }, () => client.create({ max_tokens: 1 }, options));
    expect(await Promise.all(calls)).toHaveLength(30);
    process.off("warning", note);
    expect(warnings).toEqual([]);
  },
);

test("leaving a stream frees its slot: others are answered", async () => {
  for (let times = 0; times < 8; times += 1) {
    for await (const chunk of client.stream(endless)) {
      expect(chunk.choices).toHaveLength(1);
      break;
    }
  }
  expect((await client.create({ prompt: "b", max_tokens: 1 })).choices).toHaveLength(1);
});
