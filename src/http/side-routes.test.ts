import { afterEach, describe, expect, test } from "vitest";
import { limitsProfiles } from "../contract/limits.ts";
import type { Health } from "./server-context.ts";
import { fakeServer } from "./testing/fake-server.ts";

const apps: ReturnType<typeof fakeServer>[] = [];

afterEach(async () => {
  await Promise.all(apps.splice(0).map((app) => app.close()));
});

function server(...parameters: Parameters<typeof fakeServer>) {
  const app = fakeServer(...parameters);
  apps.push(app);
  const headers = { host: "localhost", "content-type": "application/json" };
  return {
    get: (url: string) => app.inject({ method: "GET", url, headers: { host: "localhost" } }),
    post: (url: string, body: unknown) =>
      app.inject({ method: "POST", url, headers, payload: JSON.stringify(body) }),
  };
}

const entry = {
  object: "model",
  created: 1_700_000_000,
  owned_by: "completionist",
  max_model_len: 4096,
  limits: {
    profile: "openai",
    logprobs: 5,
    stop: 4,
    n: 128,
    best_of: 20,
    candidates: 2048,
    logit_bias: 1024,
  },
};

describe("models", () => {
  test.each(["/v1/models", "/models", "/v1/models/"])(
    "%s lists models and aliases",
    async (url) => {
      const answer = await server().get(url);
      expect(answer.headers["content-type"]).toBe("application/json");
      expect(answer.json()).toEqual({
        object: "list",
        data: [
          { id: "fake", ...entry },
          { id: "org/name", ...entry },
          { id: "davinci-002", ...entry },
        ],
      });
    },
  );

  test.each([
    ["/v1/models/fake", "fake"],
    ["/v1/models/org/name", "org/name"],
    ["/v1/models/org%2Fname", "org/name"],
    ["/models/davinci-002", "davinci-002"],
  ])("%s is one model", async (url, id) => {
    expect((await server().get(url)).json()).toEqual({ id, ...entry });
  });

  test("an unknown one is a 404 with a short message", async () => {
    const answer = await server().get(`/v1/models/${"x".repeat(900)}`);
    expect(answer.statusCode).toBe(404);
    expect(answer.json().error.code).toBe("model_not_found");
    expect(answer.json().error.message.length).toBeLessThan(200);
  });

  test("show the limits in force", async () => {
    const answer = await server({ options: { limits: limitsProfiles.extended } }).get(
      "/v1/models/fake",
    );
    expect(answer.json().limits).toMatchObject({ profile: "extended", logprobs: 20, stop: 64 });
  });

  test("have their former name too", async () => {
    const engine = { id: "fake", object: "engine", owner: "completionist", ready: true };
    const list = (await server().get("/v1/engines")).json();
    expect(list.object).toBe("list");
    expect(list.data[0]).toEqual(engine);
    expect((await server().get("/v1/engines/fake")).json()).toEqual(engine);
    expect((await server().get("/v1/engines/nope")).statusCode).toBe(404);
    const posted = await server().post("/v1/engines/fake", {});
    expect(posted.statusCode).toBe(405);
    expect(posted.headers.allow).toBe("GET, HEAD");
  });
});

describe("health", () => {
  test("is 200 when the engine is well, 503 with the reason when not", async () => {
    expect((await server().get("/health")).json()).toEqual({ status: "ok" });
    const loading: Health = { status: "loading", progress: 0.5 };
    const answer = await server({ health: () => loading }).get("/v1/health");
    expect([answer.statusCode, answer.json()]).toEqual([503, loading]);
  });
});

describe("the OpenAPI document", () => {
  test("is served with the base path and the version", async () => {
    const options = { basePath: "/llm", version: "9.9.9" };
    const document = (await server({ options }).get("/openapi.json")).json();
    expect(document).toMatchObject({
      openapi: "3.1.0",
      info: { version: "9.9.9" },
      servers: [{ url: "/llm" }],
    });
  });

  test("has no path that is not served", async () => {
    const { get, post } = server();
    const { paths } = (await get("/openapi.json")).json();
    for (const [path, methods] of Object.entries<object>(paths)) {
      const url = path.replace("{id}", "fake");
      const answer =
        "post" in methods ? await post(url, { prompt: "x", tokens: [] }) : await get(url);
      expect([path, answer.statusCode]).toEqual([path, 200]);
    }
  });
});

describe.each(["", "/v1"])("the tokenizer under %j/", (prefix) => {
  test("turns text into ids", async () => {
    const { post } = server();
    expect((await post(`${prefix}/tokenize`, { prompt: "hé" })).json()).toEqual({
      count: 4,
      max_model_len: 4096,
      tokens: [256, 0x68, 0xc3, 0xa9],
      token_strs: null,
    });
    const bare = {
      model: "fake",
      prompt: "hé",
      add_special_tokens: false,
      return_token_strs: true,
    };
    expect((await post(`${prefix}/tokenize`, bare)).json()).toEqual({
      count: 3,
      max_model_len: 4096,
      tokens: [0x68, 0xc3, 0xa9],
      token_strs: ["h", "bytes:\\xc3", "bytes:\\xa9"],
    });
  });

  test("turns ids into text", async () => {
    const { post } = server();
    const answer = await post(`${prefix}/detokenize`, { tokens: [256, 0x68, 0xc3, 0xa9] });
    expect(answer.json()).toEqual({ prompt: "<|endoftext|>hé" });
  });

  test("describes itself", async () => {
    expect((await server().get(`${prefix}/tokenizer_info?model=fake`)).json()).toEqual({
      tokenizer_class: "completionist",
      bos_token: null,
      eos_token: "<|endoftext|>",
      pad_token: null,
      add_bos_token: false,
      vocab_size: 257,
      model_max_length: 4096,
      chat_template: "{{ messages }}",
    });
  });
});

describe("requests to the tokenizer", () => {
  test.each<[string, unknown, number, string | null, string | null]>([
    ["tokenize", {}, 400, "prompt", "missing_required_parameter"],
    ["tokenize", { prompt: 5 }, 400, "prompt", "invalid_type"],
    ["tokenize", { prompt: "x".repeat(1_000_001) }, 400, "prompt", "invalid_value"],
    ["tokenize", { prompt: "x", add_special_tokens: 1 }, 400, "add_special_tokens", "invalid_type"],
    ["tokenize", { prompt: "x", model: "nope" }, 404, null, "model_not_found"],
    ["tokenize", [], 400, null, null],
    ["detokenize", {}, 400, "tokens", "missing_required_parameter"],
    ["detokenize", { tokens: ["a"] }, 400, "tokens[0]", "invalid_type"],
    ["detokenize", { tokens: [0.5] }, 400, "tokens[0]", "invalid_type"],
    ["detokenize", { tokens: [257] }, 400, null, null],
    ["detokenize", { tokens: [-1] }, 400, null, null],
  ])("%s %j is refused", async (route, body, status, param, code) => {
    const answer = await server().post(`/${route}`, body);
    expect(answer.statusCode).toBe(status);
    expect(answer.json().error).toMatchObject({ param, code });
  });

  test("a token beyond the vocabulary is named with the range", async () => {
    const answer = await server().post("/detokenize", { tokens: [257] });
    expect(answer.json().error.message).toBe(
      "Invalid token in prompt: 257. Minimum value is 0, maximum value is 256 (inclusive).",
    );
  });
});
