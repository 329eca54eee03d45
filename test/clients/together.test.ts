/** together-ai (npm): another client of the same make, against a plain OpenAI body. */
import Together, { APIError } from "together-ai";
import { afterAll, beforeAll, expect, test } from "vitest";
import { tinyGgufFile } from "../../src/llama/testing/tiny-gguf.ts";
import { type ServerProcess, startServer } from "../support/server-process.ts";

const body = { model: "davinci-002", prompt: "The river was", max_tokens: 12, seed: 2 } as const;

let server: ServerProcess;
let client: Together;

beforeAll(async () => {
  server = await startServer(["--threads", "1", "--model", tinyGgufFile()]);
  client = new Together({ baseURL: `${server.url}/v1`, apiKey: "none", maxRetries: 0 });
});

afterAll(async () => {
  await server?.stop();
});

test("create: text, finish reason and usage", async () => {
  const { choices, usage, object } = await client.completions.create(body);
  expect(object).toBe("text_completion");
  expect(choices).toHaveLength(1);
  expect(typeof choices[0]?.text).toBe("string");
  expect(["stop", "length"]).toContain(choices[0]?.finish_reason);
  expect(usage?.total_tokens).toBe((usage?.prompt_tokens ?? 0) + (usage?.completion_tokens ?? 0));
});

test("stream: the pieces make the text of create, with one finish reason", async () => {
  const whole = await client.completions.create(body);
  const stream = await client.completions.create({ ...body, stream: true });
  let text = "";
  const finishes: string[] = [];
  for await (const { choices } of stream) {
    // Its types name another field; the body's `text` comes through as it is.
    const choice = choices[0] as { text?: string; finish_reason?: string | null } | undefined;
    text += choice?.text ?? "";
    if (choice?.finish_reason) finishes.push(choice.finish_reason);
  }
  expect(text).toBe(whole.choices[0]?.text);
  expect(finishes).toEqual([whole.choices[0]?.finish_reason]);
});

test("echo, n, logprobs and its own sampling fields are understood or ignored", async () => {
  const { choices } = await client.completions.create({
    ...body,
    echo: true,
    n: 2,
    logprobs: 1,
    top_k: 20,
    min_p: 0.01,
    repetition_penalty: 1.1,
    safety_model: "none",
  });
  expect(choices).toHaveLength(2);
  for (const { text } of choices) expect(text?.startsWith(body.prompt)).toBe(true);
});

test("a refusal is its own APIError with the server's message", async () => {
  const call = client.completions.create({ ...body, model: "no-such-model" });
  await expect(call).rejects.toBeInstanceOf(APIError);
  await expect(call).rejects.toMatchObject({ status: 404 });
  await expect(call).rejects.toThrow(/does not exist/);
});
