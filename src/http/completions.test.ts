import OpenAI from "openai";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { CompletionRequest } from "../contract/completion-request.ts";
import { ApiError, type ErrorName, errorTable } from "../contract/errors.ts";
import {
  aborted,
  choicePart,
  fakeServer,
  gate,
  logprobsOf,
  oneChoice,
  partsOf,
  RecordedLog,
  type Script,
  usage,
} from "./testing/fake-server.ts";
import { listen } from "./testing/raw-client.ts";

const json = { "content-type": "application/json", host: "localhost" };
const apps: ReturnType<typeof fakeServer>[] = [];

afterEach(async () => {
  await Promise.all(apps.splice(0).map((app) => app.close()));
});

function server(...parameters: Parameters<typeof fakeServer>) {
  const app = fakeServer(...parameters);
  apps.push(app);
  const post = (body: unknown, url = "/v1/completions", headers: Record<string, string> = {}) =>
    app.inject({
      method: "POST",
      url,
      headers: { ...json, ...headers },
      payload: typeof body === "string" ? body : JSON.stringify(body),
    });
  return { app, post };
}

describe("a response", () => {
  test("has the shape, the id and the headers of OpenAI's", async () => {
    const { post } = server();
    const answer = await post({ model: "fake", prompt: "x" });
    expect(answer.statusCode).toBe(200);
    expect(answer.headers).toMatchObject({
      "content-type": "application/json",
      "cache-control": "no-cache, must-revalidate",
      "openai-model": "fake.Q8_0",
      "openai-organization": "completionist",
      "openai-version": "2020-10-01",
      "openai-processing-ms": expect.stringMatching(/^\d+$/),
      "x-request-id": expect.stringMatching(/^req_[0-9a-f]{32}$/),
    });
    expect(answer.headers).not.toHaveProperty("x-powered-by");
    expect(answer.headers).not.toHaveProperty("x-ignored-params");
    const body = answer.json();
    expect(Object.keys(body)).toEqual([
      "id",
      "object",
      "created",
      "model",
      "choices",
      "usage",
      "system_fingerprint",
    ]);
    expect(body).toEqual({
      id: expect.stringMatching(/^cmpl-[0-9A-Za-z]{29}$/),
      object: "text_completion",
      created: expect.any(Number),
      model: "fake",
      choices: [{ text: "Hi", index: 0, logprobs: null, finish_reason: "stop" }],
      usage: usage(1),
      system_fingerprint: "fp_fake",
    });
    expect(Number.isInteger(body.created)).toBe(true);
  });

  test("says how long it took", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    try {
      const { post } = server({}, (request) => {
        vi.advanceTimersByTime(1234);
        return oneChoice(String(request.stream));
      });
      for (const stream of [false, true]) {
        expect((await post({ stream })).headers["openai-processing-ms"]).toBe("1234");
      }
    } finally {
      vi.useRealTimers();
    }
  });

  test("joins the parts of each choice and sorts by index", async () => {
    const { post } = server({}, () =>
      partsOf([
        choicePart({ index: 1, text: "b", logprobs: logprobsOf(["b"], 3) }),
        choicePart({ index: 0, text: "a", logprobs: logprobsOf(["a"], 3) }),
        choicePart({ index: 1, text: "cd", logprobs: logprobsOf(["c", "d"], 4) }),
        choicePart({ index: 0, logprobs: logprobsOf([], 0), finish_reason: "stop" }),
        choicePart({ index: 1, logprobs: logprobsOf([], 0), finish_reason: "length" }),
        { kind: "usage", usage: usage(4) },
      ]),
    );
    const body = (await post({ n: 2, logprobs: 0 })).json();
    expect(body.usage).toEqual(usage(4));
    expect(body.choices).toEqual([
      {
        text: "a",
        index: 0,
        logprobs: {
          tokens: ["a"],
          token_logprobs: [-0.5],
          top_logprobs: [{ a: -0.5 }],
          text_offset: [3],
        },
        finish_reason: "stop",
      },
      {
        text: "bcd",
        index: 1,
        logprobs: {
          tokens: ["b", "c", "d"],
          token_logprobs: [-0.5, -0.5, -0.5],
          top_logprobs: [{ b: -0.5 }, { c: -0.5 }, { d: -0.5 }],
          text_offset: [3, 4, 5],
        },
        finish_reason: "length",
      },
    ]);
  });

  test("holds an echoed prompt of 150,000 tokens", async () => {
    const tokens = Array.from({ length: 150_000 }, () => "a");
    const { post } = server({}, () =>
      partsOf([
        choicePart({ logprobs: logprobsOf(tokens, 0), finish_reason: "length" }),
        { kind: "usage", usage: usage(0) },
      ]),
    );
    const body = (await post({ echo: true, max_tokens: 0, logprobs: 1 })).json();
    expect(body.choices[0].logprobs.tokens).toHaveLength(150_000);
  });

  test("names the model as the request did, or the default model", async () => {
    const { post } = server();
    expect((await post({ model: "davinci-002" })).json().model).toBe("davinci-002");
    expect((await post({})).json().model).toBe("fake");
  });

  test("names ignored fields in a header that stays a header", async () => {
    const { post } = server();
    const answer = await post({ typical_p: 1, "a\r\nb, ü": 1, gone: null });
    expect(answer.headers["x-ignored-params"]).toBe("typical_p, a%0D%0Ab%2C%20%C3%BC");
    const many = Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`f${index}`, 1]));
    expect(String((await post(many)).headers["x-ignored-params"]).length).toBeLessThan(1100);
  });

  test("hands the parsed request to the completion", async () => {
    const seen: CompletionRequest[] = [];
    const { post } = server({}, (request) => {
      seen.push(request);
      return oneChoice("");
    });
    await post({ model: "davinci-002", prompt: [1, 2], max_tokens: 3 });
    expect(seen).toMatchObject([
      { model: "davinci-002", prompts: [{ kind: "tokens", tokens: [1, 2] }], maxTokens: 3 },
    ]);
  });
});

describe("other paths of the same route", () => {
  test.each([
    "/completions",
    "/beta/completions",
    "/v1/completions/",
    "//v1/completions",
    "/v1/completions?api=1",
  ])("%s", async (url) => expect((await server().post({}, url)).statusCode).toBe(200));

  test.each([
    ["/v1/engines/fake/completions", "fake"],
    ["/engines/davinci-002/completions", "davinci-002"],
    ["/v1/engines/org%2Fname/completions", "org/name"],
    ["/v1/engines/org/name/completions/", "org/name"],
  ])("%s takes the model from the path", async (url, model) => {
    const answer = await server().post({ model: "unknown" }, url);
    expect(answer.json()).toMatchObject({ object: "text_completion", model });
  });

  test("an unknown engine is a 404", async () => {
    const answer = await server().post({}, "/v1/engines/nope/completions");
    expect(answer.statusCode).toBe(404);
    expect(answer.json().error.code).toBe("model_not_found");
  });

  test("a base path may be in front", async () => {
    const { post } = server({ options: { basePath: "/llm" } });
    expect((await post({}, "/llm/v1/completions")).statusCode).toBe(200);
    expect((await post({}, "/v1/completions")).statusCode).toBe(200);
    expect((await post({}, "/llmx/v1/completions")).statusCode).toBe(404);
  });
});

describe("failures", () => {
  test("of the contract, the catalog and the completion are errors in the envelope", async () => {
    const { post } = server({
      startCompletion: async () => {
        throw new ApiError("overloaded", {}, { retry: { shouldRetry: true, retryAfterMs: 1500 } });
      },
    });
    const range = await post({ temperature: 3 });
    expect([range.statusCode, range.json().error.code]).toEqual([400, "decimal_above_max_value"]);
    const unknown = await post({ model: "nope", temperature: 3 });
    expect([unknown.statusCode, unknown.json().error.code]).toEqual([404, "model_not_found"]);
    const busy = await post({});
    expect(busy.statusCode).toBe(503);
    expect(busy.headers).toMatchObject({
      "content-type": "application/json",
      "retry-after": "2",
      "retry-after-ms": "1500",
      "x-should-retry": "true",
    });
    expect(busy.headers).not.toHaveProperty("cache-control");
    expect(Object.keys(busy.json().error)).toEqual(["message", "type", "param", "code"]);
  });

  test("that nobody expected are a 500 without details, and logged", async () => {
    const log = new RecordedLog();
    const { post } = server({
      log,
      startCompletion: async () => {
        throw new Error("secret detail");
      },
    });
    const answer = await post({});
    expect(answer.statusCode).toBe(500);
    expect(answer.json().error.type).toBe("server_error");
    expect(answer.body).not.toContain("secret");
    const errors = log.lines.filter(({ level }) => level === "error");
    expect(errors).toHaveLength(1);
    expect(errors[0]?.fields).toMatchObject({ requestId: answer.headers["x-request-id"] });
  });

  test("in mid-run are HTTP errors when nothing is streamed", async () => {
    const { post } = server({}, async function* () {
      yield { kind: "admitted" };
      yield choicePart({ text: "a" });
      throw new ApiError("modelFailed", { reason: "it ended" });
    });
    expect((await post({})).statusCode).toBe(503);
  });

  test("of a run that ends without usage are 500s", async () => {
    const { post } = server({}, () => partsOf([]));
    expect((await post({})).statusCode).toBe(500);
    const empty: Script = async function* () {};
    expect((await server({}, empty).post({ stream: true })).statusCode).toBe(500);
  });
});

describe("every row of the error table", () => {
  test.each(Object.keys(errorTable) as ErrorName[])("%s goes out as it stands", async (name) => {
    const error = new ApiError(name, { param: "p", limitType: "tokens" });
    const { post } = server({
      startCompletion: async () => {
        throw error;
      },
    });
    const answer = await post({ stream: true });
    expect(answer.statusCode).toBe(errorTable[name].status);
    expect(answer.headers["content-type"]).toBe("application/json");
    expect(answer.json()).toEqual(error.body());
  });
});

describe("strict mode and limits", () => {
  test("come from the options", async () => {
    const { post } = server({ options: { strict: true } });
    const answer = await post({ typical_p: 1 });
    expect(answer.json().error.message).toBe("Unrecognized request argument supplied: typical_p");
  });
});

describe("with the official client", () => {
  const client = async (...parameters: Parameters<typeof fakeServer>) => {
    const { app } = server(...parameters);
    const port = await listen(app);
    return new OpenAI({ apiKey: "any", baseURL: `http://127.0.0.1:${port}/v1`, maxRetries: 0 });
  };

  test("responses and streams are read", async () => {
    const openai = await client();
    const whole = await openai.completions.create({ model: "fake", prompt: "x" });
    expect(whole.choices[0]?.text).toBe("Hi");
    expect(whole._request_id).toMatch(/^req_/);
    let text = "";
    const events = await openai.completions.create({ model: "fake", prompt: "x", stream: true });
    for await (const event of events) text += event.choices[0]?.text;
    expect(text).toBe("Hi");
  });

  test("errors keep their class, code and param", async () => {
    const openai = await client();
    const refused = openai.completions.create({ model: "fake", prompt: "x", temperature: 9 });
    await expect(refused).rejects.toMatchObject({
      constructor: OpenAI.BadRequestError,
      code: "decimal_above_max_value",
      param: "temperature",
    });
  });

  test("an aborted request aborts the completion at once", async () => {
    const started = gate();
    const stopped = gate();
    const openai = await client({}, async function* (_, signal) {
      started.open();
      await aborted(signal);
      stopped.open();
      yield { kind: "admitted" };
    });
    const controller = new AbortController();
    const request = openai.completions.create(
      { model: "fake", prompt: "x" },
      { signal: controller.signal },
    );
    await started.opened;
    controller.abort();
    await expect(request).rejects.toThrow();
    await stopped.opened;
  });
});
