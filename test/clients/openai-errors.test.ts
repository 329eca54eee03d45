/** openai (npm): the error class of every refusal, none of which it may repeat. */
import OpenAI, { APIError, AuthenticationError, BadRequestError, NotFoundError } from "openai";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { tinyGgufFile } from "../../src/llama/testing/tiny-gguf.ts";
import { type ServerProcess, startServer } from "../support/server-process.ts";
import { FaultProxy } from "./support/fault-proxy.ts";

const key = "sk-the-right-key-of-this-server";
const body = { model: "davinci-002", prompt: "The river", max_tokens: 2 };

let server: ServerProcess;
let proxy: FaultProxy;
let client: OpenAI;

beforeAll(async () => {
  const options = ["--api-key", key, "--body-limit", "4KB", "--strict"];
  server = await startServer(["--threads", "1", "--model", tinyGgufFile(), ...options]);
});

afterAll(async () => {
  await proxy?.stop();
  await server?.stop();
});

beforeEach(async () => {
  await proxy?.stop();
  proxy = await FaultProxy.start(server.url);
  client = new OpenAI({ baseURL: `${proxy.url}/v1`, apiKey: key });
});

/** What the call throws; it must have been tried once. */
async function refusal(call: Promise<unknown>): Promise<APIError> {
  const thrown = await call.then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(thrown).toBeInstanceOf(APIError);
  expect(proxy.seen).toHaveLength(1);
  const error = thrown as APIError;
  expect(error.requestID).toMatch(/^req_[0-9a-f]{32}$/);
  return error;
}

/** Headers and bodies that `create` would not send. */
const raw = (options: Parameters<OpenAI["post"]>[1]): Promise<unknown> =>
  client.post("/completions", options);

test("the right key is let in", async () => {
  expect((await client.completions.create(body)).choices).toHaveLength(1);
});

test("401 with a wrong key: AuthenticationError, the key masked", async () => {
  const other = new OpenAI({ baseURL: `${proxy.url}/v1`, apiKey: "sk-a-wrong-key-0123456789" });
  const error = await refusal(other.completions.create(body));
  expect(error).toBeInstanceOf(AuthenticationError);
  expect(error).toMatchObject({ status: 401, code: "invalid_api_key", param: null });
  expect(error.message).not.toContain("sk-a-wrong-key-0123456789");
});

test("401 without a key: AuthenticationError without a code", async () => {
  const error = await refusal(raw({ body, headers: { authorization: null } }));
  expect(error).toBeInstanceOf(AuthenticationError);
  expect(error).toMatchObject({ status: 401, code: null, type: "invalid_request_error" });
});

test("404 of a route that is not served: NotFoundError", async () => {
  const messages = [{ role: "user" as const, content: "hello" }];
  const error = await refusal(client.chat.completions.create({ model: body.model, messages }));
  expect(error).toBeInstanceOf(NotFoundError);
  expect(error).toMatchObject({ status: 404, code: "unknown_url" });
  expect(error.message).toContain("v1/completions");
});

test("404 of a model that is not served: NotFoundError", async () => {
  const error = await refusal(client.models.retrieve("no-such-model"));
  expect(error).toBeInstanceOf(NotFoundError);
  expect(error).toMatchObject({ status: 404, code: "model_not_found" });
});

test("405 with the method that would work", async () => {
  const error = await refusal(client.get("/completions"));
  expect(error).toMatchObject({ status: 405, type: "invalid_request_error", code: null });
  expect(error.headers?.get("allow")).toBe("POST");
});

test("413 of a body beyond the limit", async () => {
  const error = await refusal(client.completions.create({ ...body, prompt: "x".repeat(5000) }));
  expect(error).toMatchObject({ status: 413, code: "request_too_large" });
});

test("415 of a body that does not say it is JSON", async () => {
  const error = await refusal(raw({ body, headers: { "content-type": "application/xml" } }));
  expect(error).toMatchObject({ status: 415, code: "unsupported_media_type" });
});

test("400 of an unknown field on a strict server: BadRequestError in OpenAI's words", async () => {
  const error = await refusal(raw({ body: { ...body, top_hat: 1 } }));
  expect(error).toBeInstanceOf(BadRequestError);
  expect(error).toMatchObject({ status: 400, code: null, param: null });
  expect(error.message).toBe("400 Unrecognized request argument supplied: top_hat");
});

test("a stream is refused with the same classes before it begins", async () => {
  const other = new OpenAI({ baseURL: `${proxy.url}/v1`, apiKey: "sk-a-wrong-key-0123456789" });
  const error = await refusal(other.completions.create({ ...body, stream: true }));
  expect(error).toBeInstanceOf(AuthenticationError);
});
