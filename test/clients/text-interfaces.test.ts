/** Pages and apps around plain completion: SillyTavern and mikupad, with its token probabilities. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { tinyGgufFile } from "../../src/llama/testing/tiny-gguf.ts";
import { type ServerProcess, startServer } from "../support/server-process.ts";
import {
  chunksOf,
  codePoints,
  complete,
  logprobsOf,
  modelName,
  onlyChoice,
  post,
  sharedServerUrl,
  streamText,
} from "./support/requests.ts";
import { samplerFields } from "./support/sampler-fields.ts";

describe("SillyTavern", () => {
  const body = {
    ...samplerFields,
    model: modelName,
    prompt: "You: Hello!\nBot:",
    max_tokens: 12,
    stop: [],
    stopping_strings: ["\nYou:"],
    logprobs: 10,
  };

  test("the list of models is read for their ids, and no header speaks of Express", async () => {
    const response = await fetch(`${sharedServerUrl()}/v1/models`);
    const { data } = (await response.json()) as { data: { id: string }[] };
    expect(data.map(({ id }) => id)).toContain(modelName);
    expect(response.headers.get("x-powered-by")).toBeNull();
  });

  test("eighty fields of other servers are no hindrance", async () => {
    expect(Object.keys(samplerFields).length).toBeGreaterThan(80);
    const response = await post("/v1/completions", body);
    expect(response.status).toBe(200);
    expect(response.headers.get("x-ignored-params")).toContain("mirostat_mode");
  });

  test("seed -1 draws anew each time", async () => {
    const hot = { ...body, temperature: 2, top_k: 0, min_p: 0, top_p: 1, ignore_eos: true };
    const first = onlyChoice(await complete(hot));
    const second = onlyChoice(await complete(hot));
    expect(first.text).not.toBe(second.text);
  });

  test("swipes: best_of = n with a stream gives n choices, each with one finish", async () => {
    const chunks = chunksOf(await streamText({ ...body, n: 3, best_of: 3, max_tokens: 5 }));
    const choices = chunks.flatMap((chunk) => chunk.choices);
    expect(chunks.every((chunk) => chunk.choices.length === 1)).toBe(true);
    const finished = choices.filter((choice) => choice.finish_reason !== null);
    expect(finished.map(({ index }) => index).toSorted()).toEqual([0, 1, 2]);
  });

  test("a chunk's first map has at least ten alternatives, and its offset is behind the prompt", async () => {
    for (const { choices } of chunksOf(await streamText(body))) {
      const { top_logprobs, text_offset } = logprobsOf(choices[0]);
      if (text_offset.length === 0) continue;
      expect(Object.keys(top_logprobs[0] ?? {}).length).toBeGreaterThanOrEqual(10);
      expect(text_offset[0]).toBeGreaterThanOrEqual(codePoints(body.prompt));
    }
  });

  test("a refusal has error.message", async () => {
    const response = await post("/v1/completions", { ...body, temperature: 5 });
    const { error } = (await response.json()) as { error: { message: unknown } };
    expect(response.status).toBe(400);
    expect(typeof error.message).toBe("string");
  });
});

describe("mikupad", () => {
  const extras = {
    repetition_penalty: 1.1,
    repetition_penalty_range: 0,
    tfs: 1,
    typical_p: 1,
    mirostat_mode: 0,
    mirostat_tau: 5,
    mirostat_eta: 0.1,
    ban_eos_token: false,
    grammar_string: "",
    max_context_length: 2048,
    dynamic_temperature: false,
    do_sample: true,
    stop: [],
    seed: -1,
  };
  const body = {
    ...extras,
    model: modelName,
    prompt: "The old man said: “",
    max_tokens: 12,
    temperature: 0.7,
    top_p: 0.95,
    logprobs: 10,
  };

  test("streaming: the text of a chunk is a key of its first map, one token at a time", async () => {
    const chunks = chunksOf(await streamText(body));
    let tokens = 0;
    for (const { choices } of chunks) {
      const { text, logprobs } = choices[0] ?? { text: "", logprobs: null };
      if (text === "") continue;
      // Only a character that is made of several tokens comes as more than one.
      if (logprobs?.tokens.length === 1) {
        expect(Object.keys(logprobs.top_logprobs[0] ?? {})).toContain(text);
        expect(logprobs.tokens[0]).toBe(text);
      } else expect(logprobs?.tokens.every((token) => token.startsWith("bytes:"))).toBe(true);
      tokens += logprobs?.tokens.length ?? 0;
    }
    expect(tokens).toBeGreaterThan(0);
  });

  test("not streaming: tokens[i] is a key of top_logprobs[i]", async () => {
    const { tokens, top_logprobs } = logprobsOf(onlyChoice(await complete(body)));
    expect(tokens.length).toBeGreaterThan(0);
    for (const [index, token] of tokens.entries()) {
      expect(Object.keys(top_logprobs[index] ?? {})).toContain(token);
    }
  });

  test("no event has a name, since named ones are not read", async () => {
    expect(await streamText(body)).not.toMatch(/^event:/m);
  });

  const preflight = (url: string, origin: string) =>
    fetch(`${url}/v1/completions`, {
      method: "OPTIONS",
      headers: {
        origin,
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization,content-type",
      },
    });

  test("a page of this machine may call a server without keys: preflight, then the answer", async () => {
    const origin = "http://localhost:5500";
    const asked = await preflight(sharedServerUrl(), origin);
    expect(asked.status).toBe(200);
    expect(asked.headers.get("access-control-allow-origin")).toBe(origin);
    expect(asked.headers.get("access-control-allow-headers")).toMatch(/authorization/i);
    expect(asked.headers.get("access-control-allow-methods")).toContain("POST");
    const headers = { origin, authorization: "Bearer any" };
    const answered = await post("/v1/completions", { ...body, max_tokens: 1 }, { headers });
    expect(answered.status).toBe(200);
    expect(answered.headers.get("access-control-allow-origin")).toBe(origin);
  });

  test("a page of the web may not call a server without keys", async () => {
    const origin = "https://mikupad.example";
    const asked = await preflight(sharedServerUrl(), origin);
    expect(asked.headers.get("access-control-allow-origin")).toBeNull();
    const refused = await post("/v1/completions", body, { headers: { origin } });
    expect(refused.status).toBe(403);
  });

  describe("on a server with keys", () => {
    let server: ServerProcess;

    beforeAll(async () => {
      const options = ["--api-key", "sk-mikupad", "--model", tinyGgufFile()];
      server = await startServer(["--threads", "1", ...options]);
    });

    afterAll(async () => {
      await server?.stop();
    });

    test.each(["https://mikupad.example", "null"])(
      "a page of %s may call it with its key",
      async (origin) => {
        const { url } = server;
        const asked = await preflight(url, origin);
        expect(asked.status).toBe(200);
        expect(asked.headers.get("access-control-allow-origin")).toBe("*");
        const headers = { origin, authorization: "Bearer sk-mikupad" };
        const small = { prompt: "The", max_tokens: 2, stream: true };
        const answered = await post("/v1/completions", small, { url, headers });
        expect(answered.status).toBe(200);
        expect(answered.headers.get("access-control-allow-origin")).toBe("*");
        expect(chunksOf(await answered.text()).length).toBeGreaterThan(0);
        const withoutKey = await post("/v1/completions", small, { url, headers: { origin } });
        expect(withoutKey.status).toBe(401);
        // Without this header the page could not read why it was refused.
        expect(withoutKey.headers.get("access-control-allow-origin")).toBe("*");
      },
    );
  });
});
