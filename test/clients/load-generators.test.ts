/** Load generators: vLLM's `bench serve`, guidellm, aiperf. They count tokens and chunks. */
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { tinyGgufFile } from "../../src/llama/testing/tiny-gguf.ts";
import { type ServerProcess, startServer } from "../support/server-process.ts";
import { chunksOf, complete, streamText, tokenize, type WireAnswer } from "./support/requests.ts";

const model = "davinci-002";
const maxTokens = 40;

let server: ServerProcess;

beforeAll(async () => {
  server = await startServer(["--threads", "1", "--model", tinyGgufFile()]);
});

afterAll(async () => {
  await server?.stop();
});

/** What comes out of the socket, read by read. */
async function networkReads(body: object): Promise<{ response: IncomingMessage; reads: string[] }> {
  const headers = { "content-type": "application/json", "x-request-id": "bench-7" };
  const outgoing = request(`${server.url}/v1/completions`, { method: "POST", headers });
  outgoing.end(JSON.stringify({ ...body, stream: true }));
  const [response] = (await once(outgoing, "response")) as [IncomingMessage];
  const reads: string[] = [];
  for await (const bytes of response) reads.push(String(bytes));
  return { response, reads };
}

describe("vLLM bench serve", () => {
  async function body() {
    return {
      model,
      prompt: await tokenize("The river was high", server.url),
      repetition_penalty: 1,
      max_tokens: maxTokens,
      logprobs: null,
      stream_options: { include_usage: true },
      ignore_eos: true,
    };
  }

  test("each network read is whole frames, so that trimming it loses nothing", async () => {
    const { reads } = await networkReads(await body());
    let text = "";
    const choices: WireAnswer[] = [];
    for (const read of reads) {
      expect(read.endsWith("\n\n")).toBe(true);
      for (const frame of read.trim().split("\n\n")) {
        expect(frame.startsWith("data: ")).toBe(true);
        const data = frame.slice("data: ".length);
        if (data !== "[DONE]") choices.push(JSON.parse(data) as WireAnswer);
      }
    }
    for (const chunk of choices) text += chunk.choices[0]?.text ?? "";
    expect(text).not.toBe("");
    expect(choices.filter((chunk) => chunk.choices[0]?.text).length).toBeGreaterThan(1);
  });

  test("the last chunk has the usage and no choice; ignore_eos makes it the tokens asked for", async () => {
    const chunks = chunksOf(await streamText(await body(), server.url));
    const last = chunks.pop();
    expect(last?.choices).toEqual([]);
    expect(last?.usage).toMatchObject({
      prompt_tokens: (await body()).prompt.length,
      completion_tokens: maxTokens,
    });
    for (const chunk of chunks) expect(chunk.usage).toBeNull();
  });

  test("its own request id comes back beside ours", async () => {
    const { response } = await networkReads({ ...(await body()), max_tokens: 1 });
    expect(response.headers["x-client-request-id"]).toBe("bench-7");
    expect(response.headers["x-request-id"]).toMatch(/^req_[0-9a-f]{32}$/);
  });
});

describe("guidellm", () => {
  const body = {
    model,
    prompt: "The river was high",
    stream_options: { include_usage: true, continuous_usage_stats: true },
    max_tokens: maxTokens,
    stop: null,
    ignore_eos: true,
  };

  test("before it starts: /health is 200 and the models are listed", async () => {
    expect((await fetch(`${server.url}/health`)).status).toBe(200);
    const response = await fetch(`${server.url}/v1/models`);
    const { data } = (await response.json()) as { data: { id: string }[] };
    expect(data.map(({ id }) => id)).toContain(model);
  });

  test("each chunk has the usage so far, which ends at the tokens asked for", async () => {
    const chunks = chunksOf(await streamText(body, server.url));
    const counts = chunks.map(({ usage }) => usage?.completion_tokens as number);
    expect(counts).toEqual(counts.toSorted((left, right) => left - right));
    expect(counts[0]).toBeGreaterThanOrEqual(1);
    expect(counts.at(-1)).toBe(maxTokens);
    for (const { usage } of chunks) {
      expect(usage).toHaveProperty("prompt_tokens_details.cached_tokens");
    }
    expect(chunks.map(({ choices }) => choices[0]?.text ?? "").join("")).not.toBe("");
  });

  test("`data: [DONE]` is a line of its own", async () => {
    expect((await streamText(body, server.url)).split("\n")).toContain("data: [DONE]");
  });
});

describe("aiperf", () => {
  test("a list of one prompt; every chunk says text_completion; min_tokens is kept", async () => {
    const body = { model, prompt: ["The river"], max_tokens: maxTokens, min_tokens: maxTokens };
    const chunks = chunksOf(await streamText(body, server.url));
    for (const { object } of chunks) expect(object).toBe("text_completion");
    const { usage } = await complete(body, server.url);
    expect(usage?.completion_tokens).toBe(maxTokens);
  });
});
