/** Reservations and settlements: each exactly one, durable before the last byte. */
import { describe, expect, test } from "vitest";
import { FakeAccess } from "../access/testing/fake-access.ts";
import { ApiError } from "../contract/errors.ts";
import { accounted, afterTwo, cleanups, heldSettling, settlementOf } from "./testing/accounted.ts";
import {
  choicePart,
  fakeServer,
  oneChoice,
  partsOf,
  RecordedLog,
  type Script,
  usage,
} from "./testing/fake-server.ts";
import { chunksOf } from "./testing/raw-client.ts";
import { endOfAnswer, framesOf } from "./testing/streams.ts";

const threeTokens: Script = () =>
  partsOf([
    choicePart({ text: "a" }, 1),
    choicePart({ text: "b", finish_reason: "length" }, 3),
    { kind: "usage", usage: usage(3) },
  ]);

describe("what is reserved", () => {
  test("is what the run may use at most, for whom and by which ids", async () => {
    const access = new FakeAccess();
    const key = access.addKey("sk-a", { name: "Ann" });
    const app = fakeServer({ access });
    cleanups.push(() => app.close());
    const answer = await app.inject({
      method: "POST",
      url: "/v1/completions",
      headers: { ...key, host: "localhost", "content-type": "application/json" },
      payload: JSON.stringify({ model: "davinci-002", max_tokens: 7, n: 2, user: "u-1" }),
    });
    expect(answer.statusCode).toBe(200);
    expect(access.reservations[0]?.demand).toEqual({
      principal: access.keys.get("sk-a"),
      user: "u-1",
      requestId: answer.headers["x-request-id"],
      completionId: answer.json().id,
      model: "fake",
      promptTokens: 3,
      completionTokensMax: 14,
      candidates: 2,
    });
  });

  test.each(["/v1/completions", "/beta/completions", "/v1/engines/fake/completions"])(
    "%s reserves",
    async (url) => {
      const access = new FakeAccess();
      access.headers = { "x-ratelimit-limit-requests": "60", "x-ratelimit-reset-requests": "1s" };
      const app = fakeServer({ access });
      cleanups.push(() => app.close());
      const headers = { host: "localhost", "content-type": "application/json" };
      const answer = await app.inject({ method: "POST", url, headers, payload: "{}" });
      expect(answer.headers).toMatchObject(access.headers);
      expect(settlementOf(access).outcome).toBe("completed");
    },
  );

  test("tokenizing and refused requests reserve nothing", async () => {
    const access = new FakeAccess();
    const app = fakeServer({ access });
    cleanups.push(() => app.close());
    const headers = { host: "localhost", "content-type": "application/json" };
    const post = (url: string, body: object) =>
      app.inject({ method: "POST", url, headers, payload: JSON.stringify(body) });
    expect((await post("/tokenize", { prompt: "a" })).statusCode).toBe(200);
    expect((await post("/v1/completions", { n: 0 })).statusCode).toBe(400);
    expect((await post("/v1/completions", { model: "nope" })).statusCode).toBe(404);
    expect(access.reservations).toEqual([]);
  });

  test.each([true, false])("a refusal is an HTTP error, stream: %s", async (stream) => {
    const access = new FakeAccess();
    const details = { limitType: "tokens", limitName: "tokens per min (TPM)", delay: "1.42s" };
    const retry = { retryAfterMs: 1420 };
    access.refusal = new ApiError("rateLimit", details, { retry });
    const { client } = await accounted(threeTokens, access);
    client.post({ stream });
    const answer = await client.until("}}");
    expect(answer).toMatch(/^HTTP\/1\.1 429 /);
    expect(answer).toContain("\r\nretry-after: 2\r\n");
    expect(answer).toContain("\r\nretry-after-ms: 1420\r\n");
    expect(answer).toContain('"type":"tokens"');
  });
});

describe("an answer that is whole", () => {
  test("is settled with what was used, and when", async () => {
    const { access, client } = await accounted(threeTokens);
    client.post({});
    await client.until('"usage"');
    expect(settlementOf(access)).toEqual({
      outcome: "completed",
      promptTokens: 3,
      cachedTokens: 0,
      completionTokens: 3,
      admittedMs: expect.any(Number),
      firstTokenMs: expect.any(Number),
      durationMs: expect.any(Number),
    });
  });

  test("has no byte sent before the settlement is durable", async () => {
    const access = new FakeAccess();
    const { asked, go } = heldSettling(access);
    const { client } = await accounted(threeTokens, access);
    client.post({});
    await asked;
    expect(client.received).toBe("");
    go();
    expect(await client.until('"usage"')).toMatch(/^HTTP\/1\.1 200 /);
  });

  test("has no [DONE] before the settlement is durable", async () => {
    const access = new FakeAccess();
    const { asked, go } = heldSettling(access);
    const { client } = await accounted(threeTokens, access);
    client.post({ stream: true });
    await asked;
    expect(await client.until('"finish_reason":"length"')).not.toContain("[DONE]");
    go();
    await client.until("[DONE]");
    expect(settlementOf(access)).toMatchObject({ outcome: "completed", completionTokens: 3 });
  });

  const unwritable = () => {
    const access = new FakeAccess();
    access.settling = async () => {
      throw new ApiError("overloaded", {}, { retry: { retryAfterMs: 500 } });
    };
    return access;
  };

  test("becomes a 503 when it cannot be recorded", async () => {
    const { access, client } = await accounted(threeTokens, unwritable());
    client.post({});
    const answer = await client.until("}}");
    expect(answer).toMatch(/^HTTP\/1\.1 503 /);
    expect(answer).toContain("retry-after-ms: 500");
    expect(answer).not.toContain('"choices"');
    settlementOf(access);
  });

  test("becomes an error frame when it cannot be recorded and has begun", async () => {
    const { access, client } = await accounted(threeTokens, unwritable());
    client.post({ stream: true });
    const frames = framesOf(chunksOf(await client.until(endOfAnswer)));
    expect(frames.at(-1).error).toMatchObject({ type: "server_error", code: null });
    settlementOf(access);
  });
});

describe("a run that fails", () => {
  const failing = afterTwo(async () => {
    throw new ApiError("server");
  });

  test("is charged what it used, before the error frame", async () => {
    const access = new FakeAccess();
    const { asked, go } = heldSettling(access);
    const { client } = await accounted(failing, access);
    client.post({ stream: true });
    await asked;
    expect(client.received).not.toContain('"error"');
    go();
    await client.until("[DONE]");
    expect(settlementOf(access)).toMatchObject({
      outcome: "failed",
      error: "server",
      promptTokens: 3,
      completionTokens: 2,
    });
  });

  test("is settled too when nothing was sent yet", async () => {
    for (const stream of [true, false]) {
      const { access, client } = await accounted(async function* () {
        yield* [];
        throw new ApiError("overloaded");
      });
      client.post({ stream });
      expect(await client.until("}}")).toMatch(/^HTTP\/1\.1 503 /);
      const settlement = settlementOf(access);
      expect(settlement).toMatchObject({ outcome: "failed", error: "overloaded" });
      expect(settlement).not.toHaveProperty("admittedMs");
      expect(settlement).not.toHaveProperty("firstTokenMs");
    }
  });

  test("tells its own error when its end cannot be recorded either", async () => {
    const access = new FakeAccess();
    access.settling = async () => {
      throw new ApiError("overloaded");
    };
    const log = new RecordedLog();
    const failed = afterTwo(async () => {
      throw new ApiError("modelFailed", { reason: "it is broken" });
    });
    const { client } = await accounted(failed, access, { log });
    client.post({ stream: true });
    expect(await client.until("[DONE]")).toContain("model_unavailable");
    expect(log.lines.filter(({ level }) => level === "error")).toHaveLength(1);
    settlementOf(access);
  });
});

test("metrics count ends by outcome, and refusals by limit", async () => {
  const access = new FakeAccess();
  const app = fakeServer({ access }, () => oneChoice("Hi"));
  cleanups.push(() => app.close());
  const headers = { host: "localhost", "content-type": "application/json" };
  const post = () => app.inject({ method: "POST", url: "/v1/completions", headers, payload: "{}" });
  await post();
  for (const limitType of ["requests", "tokens"]) {
    access.refusal = new ApiError("rateLimit", { limitType });
    await post();
  }
  access.refusal = new ApiError("quota");
  await post();
  const { body } = await app.inject({ method: "GET", url: "/metrics", headers });
  expect(body).toContain('completionist_completions_total{model="fake",outcome="completed"} 1');
  for (const limit of ["requests", "tokens", "quota"]) {
    expect(body).toContain(`completionist_limit_refusals_total{limit="${limit}"} 1`);
  }
});
