import { describe, expect, test, vi } from "vitest";
import type { CompletionRequest } from "../contract/completion-request.ts";
import { choicePart, logprobsOf, oneChoice, partsOf, usage } from "./testing/fake-server.ts";
import { server } from "./testing/injected-server.ts";

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

describe("strict mode and limits", () => {
  test("come from the options", async () => {
    const { post } = server({ options: { strict: true } });
    const answer = await post({ typical_p: 1 });
    expect(answer.json().error.message).toBe("Unrecognized request argument supplied: typical_p");
  });
});
