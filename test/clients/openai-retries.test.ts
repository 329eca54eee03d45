/** openai (npm): what it repeats and what it does not, through a proxy that fails on command. */
import OpenAI, { APIConnectionError, APIError, InternalServerError } from "openai";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { tinyGgufFile } from "../../src/llama/testing/tiny-gguf.ts";
import { enginePid } from "../support/engine-pid.ts";
import { type ServerProcess, startServer } from "../support/server-process.ts";
import { type Fault, FaultProxy } from "./support/fault-proxy.ts";

const body = { model: "text-davinci-003", prompt: "The river", max_tokens: 4, seed: 3 } as const;

let server: ServerProcess;
let proxy: FaultProxy;
let client: OpenAI;

beforeAll(async () => {
  server = await startServer(["--threads", "1", "--model", tinyGgufFile()]);
});

afterAll(async () => {
  await proxy?.stop();
  await server?.stop();
});

beforeEach(async () => {
  await proxy?.stop();
  proxy = await FaultProxy.start(server.url);
  client = new OpenAI({ baseURL: `${proxy.url}/v1`, apiKey: "none" });
});

function failure(status: number, headers: Record<string, string>): Fault {
  const error = { message: "try later", type: "server_error", param: null, code: null };
  return {
    kind: "answer",
    status,
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify({ error }),
  };
}

const retryCounts = () => proxy.seen.map(({ headers }) => headers["x-stainless-retry-count"]);

test("x-should-retry: false ends a call that would be repeated by its status", async () => {
  proxy.fail(failure(503, { "x-should-retry": "false" }));
  await expect(client.completions.create(body)).rejects.toBeInstanceOf(InternalServerError);
  expect(proxy.seen).toHaveLength(1);
});

test("x-should-retry: true repeats a call that would not be repeated by its status", async () => {
  proxy.fail(failure(400, { "x-should-retry": "true", "retry-after-ms": "1" }));
  const { choices } = await client.completions.create(body);
  expect(choices).toHaveLength(1);
  expect(retryCounts()).toEqual(["0", "1"]);
});

// Waiting for a minute would run into the time limit of the test.
test("retry-after-ms is believed before retry-after", async () => {
  proxy.fail(
    failure(429, { "retry-after-ms": "1", "retry-after": "59" }),
    failure(503, { "retry-after-ms": "1", "retry-after": "59" }),
  );
  const { choices } = await client.completions.create(body);
  expect(choices).toHaveLength(1);
  expect(retryCounts()).toEqual(["0", "1", "2"]);
}, 20_000);

test("a connection that breaks is repeated, and the repeated request gives the same answer", async () => {
  const undisturbed = await client.completions.create(body);
  proxy.fail({ kind: "drop" });
  const repeated = await client.completions.create(body);
  expect(repeated.choices).toEqual(undisturbed.choices);
  expect(repeated.id).not.toBe(undisturbed.id);
  expect(retryCounts()).toEqual(["0", "0", "1"]);
  expect(proxy.seen[2]?.body).toBe(proxy.seen[1]?.body);
});

test("a stream is repeated until it begins", async () => {
  proxy.fail({ kind: "drop" }, failure(503, { "retry-after-ms": "1" }));
  const stream = await client.completions.create({ ...body, stream: true });
  let finishes = 0;
  for await (const { choices } of stream) {
    if (choices[0]?.finish_reason !== null) finishes += 1;
  }
  expect(finishes).toBe(1);
  expect(proxy.seen).toHaveLength(3);
});

test("what keeps failing ends in the client's own errors", async () => {
  proxy.fail({ kind: "drop" });
  const broken = client.completions.create(body, { maxRetries: 0 });
  await expect(broken).rejects.toBeInstanceOf(APIConnectionError);
  proxy.fail(...Array.from({ length: 3 }, () => failure(503, { "retry-after-ms": "1" })));
  await expect(client.completions.create(body)).rejects.toMatchObject({ status: 503 });
  expect(proxy.seen).toHaveLength(4);
});

test("an answer that is no JSON of the server's is still an error with a status", async () => {
  proxy.fail({ kind: "answer", status: 502, body: "<html>bad gateway</html>" });
  const call = client.completions.create(body, { maxRetries: 0 });
  await expect(call).rejects.toBeInstanceOf(APIError);
  await expect(call).rejects.toMatchObject({ status: 502 });
});

test("_request_id is the x-request-id of the answer that counted", async () => {
  proxy.fail(failure(503, { "retry-after-ms": "1", "x-request-id": "req_of_the_failed_try" }));
  const completion = await client.completions.create(body);
  expect(completion._request_id).toMatch(/^req_[0-9a-f]{32}$/);
  expect(completion._request_id).toBe(proxy.requestIds[0]);
  const { request_id } = await client.completions.create(body).withResponse();
  expect(request_id).toBe(proxy.requestIds[1]);
  expect(request_id).not.toBe(completion._request_id);
});

test.runIf(process.platform === "linux")(
  "a call whose engine is killed is repeated and succeeds",
  async () => {
    const long = { ...body, max_tokens: 500, n: 6, ignore_eos: true };
    const pending = client.completions.create(long);
    await expect.poll(() => proxy.seen.length).toBe(1);
    const direct = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: "none" });
    // Once a later request has been answered, the call is in the engine.
    await direct.completions.create({ ...body, max_tokens: 1 });
    const stream = await direct.completions.create({ ...long, n: 1, stream: true });
    const read = async () => {
      let chunks = 0;
      for await (const _ of stream) {
        if (++chunks === 1) process.kill(enginePid(server), "SIGKILL");
      }
    };
    await expect(read()).rejects.toBeInstanceOf(APIError);
    const { choices } = await pending;
    expect(choices.map(({ finish_reason }) => finish_reason)).toEqual(Array(6).fill("length"));
    expect(retryCounts().slice(0, 2)).toEqual(["0", "1"]);
  },
);
