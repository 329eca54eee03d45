import { afterEach, describe, expect, test } from "vitest";
import { ApiError } from "../contract/errors.ts";
import { readSamples } from "../observe/testing/samples.ts";
import { choicePart, fakeServer, partsOf, usage } from "./testing/fake-server.ts";
import { listen } from "./testing/raw-client.ts";

const apps: ReturnType<typeof fakeServer>[] = [];

afterEach(async () => {
  await Promise.all(apps.splice(0).map((app) => app.close()));
});

/** A server that is asked through a socket: requests are counted when their connection is done. */
async function server(...parameters: Parameters<typeof fakeServer>) {
  const app = fakeServer(...parameters);
  apps.push(app);
  const url = `http://127.0.0.1:${await listen(app)}`;
  const get = async (path: string, headers: Record<string, string> = {}) => {
    const answer = await fetch(url + path, { headers });
    return { status: answer.status, headers: answer.headers, body: await answer.text() };
  };
  const complete = async (body: object, headers: Record<string, string> = {}) => {
    const answer = await fetch(`${url}/v1/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
    });
    await answer.text();
    return answer.status;
  };
  const samples = async () => readSamples((await get("/metrics")).body);
  return { get, complete, samples };
}

const twoTokens = () =>
  partsOf([
    choicePart({ text: "a" }, 1),
    choicePart({ text: "b" }, 2),
    choicePart({ finish_reason: "stop" }, 2),
    { kind: "usage", usage: usage(2) },
  ]);

describe("GET /metrics", () => {
  test.each(["/metrics", "/v1/metrics"])("%s is Prometheus' text", async (url) => {
    const answer = await (await server()).get(url);
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
    expect(readSamples(answer.body).size).toBeGreaterThan(5);
  });

  test("wants the key where keys are in use, unless it is open", async () => {
    const apiKeys = ["sk-0123456789abcdefghijkl"];
    const keyed = await server({ options: { apiKeys } });
    expect((await keyed.get("/metrics")).status).toBe(401);
    const authorization = `Bearer ${apiKeys[0]}`;
    expect((await keyed.get("/metrics", { authorization })).status).toBe(200);
    const open = await server({ options: { apiKeys, metrics: "open" } });
    expect((await open.get("/metrics")).status).toBe(200);
    expect((await open.get("/v1/models")).status).toBe(401);
  });

  test("is not there when it is off", async () => {
    const { get } = await server({ options: { metrics: "off" } });
    expect((await get("/metrics")).status).toBe(404);
  });
});

describe("a completion is measured", () => {
  test.each([true, false])("stream: %s", async (stream) => {
    const { complete, samples } = await server({}, twoTokens);
    expect(await complete({ prompt: "x", model: "davinci-002", stream })).toBe(200);
    const found = await samples();
    // Under the name of the model, not under an alias of it.
    expect(found.get('completionist_completion_tokens_total{model="fake"}')).toBe(2);
    expect(found.get('completionist_prompt_tokens_total{model="fake"}')).toBe(3);
    expect(found.get('completionist_queue_seconds_count{model="fake"}')).toBe(1);
    expect(found.get('completionist_time_to_first_token_seconds_count{model="fake"}')).toBe(1);
    expect(found.get('completionist_token_gap_seconds_count{model="fake"}')).toBe(1);
    const requests = "completionist_http_requests_total";
    expect(found.get(`${requests}{route="/v1/completions",status="200"}`)).toBe(1);
  });

  test("with its ignored parameters, and how often it was tried before", async () => {
    const { complete, samples } = await server({}, twoTokens);
    await complete({ prompt: "x", mirostat: 2 }, { "x-stainless-retry-count": "1" });
    const found = await samples();
    expect(found.get('completionist_ignored_parameters_total{parameter="mirostat"}')).toBe(1);
    expect(found.get('completionist_http_retries_total{retry="1"}')).toBe(1);
  });
});

describe("an error is counted by its row", () => {
  test("before the answer and inside of a stream", async () => {
    const { get, complete, samples } = await server({}, async function* () {
      yield { kind: "admitted" } as const;
      throw new ApiError("overloaded");
    });
    await complete({ prompt: "x", stream: true });
    await complete({ prompt: 5 });
    await get("/nothing/here");
    const found = await samples();
    expect(found.get('completionist_errors_total{error="overloaded"}')).toBe(1);
    expect(found.get('completionist_errors_total{error="invalidType"}')).toBe(1);
    expect(found.get('completionist_errors_total{error="unknownUrl"}')).toBe(1);
    const requests = "completionist_http_requests_total";
    expect(found.get(`${requests}{route="/v1/completions",status="400"}`)).toBe(1);
    expect(found.get(`${requests}{route="other",status="404"}`)).toBe(1);
  });
});
