/** All client libraries at once, when the server is stopped in the middle of their streams. */
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { OpenAI as LangChainOpenAI } from "@langchain/openai";
import { streamText } from "ai";
import OpenAI, { APIError } from "openai";
import Together, { APIError as TogetherError } from "together-ai";
import { afterAll, beforeAll, expect, test } from "vitest";
import { tinyGgufFile } from "../../src/llama/testing/tiny-gguf.ts";
import { type ServerProcess, startServer } from "../support/server-process.ts";

const model = "davinci-002";
const message = "The server is shutting down. Please retry your request.";
/** Far more than is generated before the server stops. */
const endless = { max_tokens: 400, n: 128, ignore_eos: true };

let server: ServerProcess;

beforeAll(async () => {
  globalThis.AI_SDK_LOG_WARNINGS = false;
  const options = ["--drain", "0", "--model", tinyGgufFile()];
  server = await startServer(["--threads", "1", ...options]);
});

afterAll(async () => {
  await server?.stop();
});

interface Reader {
  /** Resolves when the first piece has come. */
  readonly begun: Promise<void>;
  /** What the loop over the stream threw. */
  readonly thrown: Promise<unknown>;
}

function read(open: () => Promise<AsyncIterable<unknown>>): Reader {
  const begun = Promise.withResolvers<void>();
  const run = async () => {
    for await (const _ of await open()) begun.resolve();
    throw new Error("the stream ended as if nothing had happened");
  };
  const thrown = run().catch((error: unknown) => {
    begun.reject(error);
    return error;
  });
  return { begun: begun.promise, thrown };
}

function openAiSdk(): Reader {
  const client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: "none" });
  const body = { model, prompt: "The river", stream: true, ...endless } as const;
  return read(() => client.completions.create(body));
}

function togetherSdk(): Reader {
  const client = new Together({ baseURL: `${server.url}/v1`, apiKey: "none" });
  const body = { model, prompt: "The river", stream: true, ...endless } as const;
  return read(() => client.completions.create(body));
}

function langChain(): Reader {
  const configuration = { baseURL: `${server.url}/v1` };
  const { max_tokens: maxTokens, n, ...modelKwargs } = endless;
  const fields = { model, apiKey: "none", configuration, maxTokens, n, modelKwargs };
  return read(() => new LangChainOpenAI(fields).stream("The river"));
}

function aiSdk(): Reader {
  const provider = createOpenAICompatible({ name: "local", baseURL: `${server.url}/v1` });
  const { max_tokens: maxOutputTokens, ...local } = endless;
  const { fullStream } = streamText({
    model: provider.completionModel(model),
    prompt: "The river",
    maxOutputTokens,
    providerOptions: { local },
    onError: () => {},
  });
  return read(async () => textAndErrors(fullStream));
}

async function* textAndErrors(
  parts: AsyncIterable<{ readonly type: string; readonly error?: unknown }>,
): AsyncGenerator<unknown> {
  for await (const part of parts) {
    if (part.type === "text-delta") yield part;
    if (part.type === "error") throw part.error;
  }
}

test("each throws its own error with the server's words instead of a short text", async () => {
  const readers = [openAiSdk(), togetherSdk(), langChain(), aiSdk()];
  await Promise.all(readers.map(({ begun }) => begun));
  const stopped = server.stop();
  const [openai, together, langchain, ai] = await Promise.all(readers.map(({ thrown }) => thrown));
  expect(openai).toBeInstanceOf(APIError);
  expect(openai).toMatchObject({ code: "server_shutting_down", type: "server_error", param: null });
  expect(together).toBeInstanceOf(TogetherError);
  for (const error of [openai, together, langchain, ai]) {
    expect(JSON.stringify(error) + String(error)).toContain(message);
  }
  expect(await stopped).toBe(0);
});
