/** Continue's published adapters: whole, streamed with its long stop list, and left early. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { tinyGgufFile } from "../../src/llama/testing/tiny-gguf.ts";
import { type ServerProcess, startServer } from "../support/server-process.ts";
import { type ContinueAnswer, runContinueClient } from "./support/continue-client.ts";

let server: ServerProcess;
let answer: ContinueAnswer;

beforeAll(async () => {
  const options = ["--threads", "1", "--limits", "extended", "--model", tinyGgufFile()];
  server = await startServer(options);
  answer = await runContinueClient(server.url, "davinci-002");
});

afterAll(async () => {
  await server?.stop();
});

test("Continue's adapters: the streamed text is the whole one, with twelve stop strings", () => {
  expect(answer.text.length).toBeGreaterThan(0);
  expect(answer.streamed).toBe(answer.text);
  expect(answer.usage).toMatchObject({ completion_tokens: expect.any(Number) });
});

test("Continue's adapters: a completion is left on the next key, and the server goes on", async () => {
  // What was read already still comes; the 500 tokens that were asked for do not.
  expect(answer.chunksBeforeAbort).toBeGreaterThanOrEqual(3);
  expect(answer.chunksBeforeAbort).toBeLessThan(500);
  const health = await fetch(`${server.url}/health`);
  expect(await health.json()).toMatchObject({ status: "ok", running: 0 });
});
