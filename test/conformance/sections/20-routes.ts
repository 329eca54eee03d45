/** Section 20: routes beside completions. */
import { expect } from "vitest";
import { type Api, errorOf } from "../support/api.ts";
import { rulesOf } from "../support/rule.ts";
import { apiKey, server } from "../support/servers.ts";
import { choiceOf } from "../support/wire.ts";

const rule = rulesOf(import.meta.url);
const prefixes = ["", "/v1"];

async function read(api: Api, path: string, body?: Record<string, unknown>): Promise<unknown> {
  const { status, text } = await api.send(path, body === undefined ? {} : { body });
  expect(status, path).toBe(200);
  return JSON.parse(text);
}

rule(
  "20.1",
  "`GET /v1/models` lists every name that a request may use, with its context length and the limits in force; `GET /v1/models/{id}` gives one, 404 for unknown names.",
  (prove) => {
    prove("shape of the list and of its entries", async () => {
      const api = await server("plain");
      const list = (await read(api, "/v1/models")) as { object: string; data: { id: string }[] };
      expect(list.object).toBe("list");
      const names = list.data.map(({ id }) => id);
      for (const id of [
        "gpt-3.5-turbo-instruct",
        "davinci-002",
        "babbage-002",
        "text-davinci-003",
      ]) {
        expect(names).toContain(id);
      }
      for (const entry of list.data) {
        expect(entry).toEqual({
          id: entry.id,
          object: "model",
          created: expect.any(Number),
          owned_by: expect.any(String),
          max_model_len: 512,
          limits: expect.objectContaining({
            profile: "openai",
            logprobs: 5,
            stop: 4,
            n: 128,
            best_of: 20,
          }),
        });
        expect(await read(api, `/v1/models/${entry.id}`)).toEqual(entry);
        expect((await api.complete({ prompt: "x", max_tokens: 1, model: entry.id })).model).toBe(
          entry.id,
        );
      }
    });

    prove("an unknown model, and the limits of the other profile", async () => {
      const reply = await (await server("plain")).send("/v1/models/no-such");
      expect(reply.status).toBe(404);
      expect(errorOf(reply.text).code).toBe("model_not_found");
      const list = (await read(await server("wide"), "/v1/models")) as { data: unknown[] };
      expect(list.data[0]).toMatchObject({
        limits: { profile: "extended", logprobs: 20, stop: 64 },
      });
    });
  },
);

rule(
  "20.2",
  "`/tokenize` and `/detokenize` are each other's inverse and say what a prompt becomes; both exist under `/v1` too.",
  (prove) => {
    const text = "The river 中文 😀 é\n  x";

    prove("there and back, with and without what stands in front", async () => {
      for (const name of ["plain", "bytes"] as const) {
        const api = await server(name);
        for (const prefix of prefixes) {
          const bare = { prompt: text, add_special_tokens: false };
          const { tokens, count } = (await read(api, `${prefix}/tokenize`, bare)) as {
            tokens: number[];
            count: number;
          };
          expect(count).toBe(tokens.length);
          const { prompt } = (await read(api, `${prefix}/detokenize`, { tokens })) as {
            prompt: string;
          };
          expect(prompt.trimStart()).toBe(text);
          const full = (await read(api, `${prefix}/tokenize`, { prompt: text })) as {
            tokens: number[];
          };
          expect(full.tokens.length - tokens.length).toBe(name === "bytes" ? 1 : 0);
          const answer = await api.complete({ prompt: text, max_tokens: 1 });
          expect(answer.usage.prompt_tokens).toBe(full.tokens.length);
        }
      }
    });

    prove("bad bodies get the errors of the completions route", async () => {
      const api = await server("plain");
      const error = async (path: string, body: Record<string, unknown>) => {
        const { status, text: answer } = await api.send(path, { body });
        return { status, ...errorOf(answer) };
      };
      expect(await error("/tokenize", {})).toMatchObject({
        status: 400,
        param: "prompt",
        code: "missing_required_parameter",
      });
      expect(await error("/tokenize", { prompt: 5 })).toMatchObject({
        status: 400,
        param: "prompt",
        code: "invalid_type",
      });
      expect((await error("/detokenize", { tokens: [99999] })).message).toMatch(
        /^Invalid token in prompt: 99999\./,
      );
    });
  },
);

rule(
  "20.3",
  "`GET /tokenizer_info` gives the special tokens, null where there is none, and the chat template.",
  (prove) => {
    prove("two vocabularies", async () => {
      for (const prefix of prefixes) {
        expect(await read(await server("bytes"), `${prefix}/tokenizer_info`)).toMatchObject({
          ...{ bos_token: "<s>", eos_token: "</s>", add_bos_token: true, chat_template: null },
        });
        expect(await read(await server("plain"), `${prefix}/tokenizer_info`)).toMatchObject({
          ...{
            eos_token: "<|endoftext|>",
            pad_token: null,
            chat_template: expect.stringContaining("<|im_start|>"),
          },
        });
      }
    });
  },
);

rule("20.4", "`GET /health` says `ok`, and needs no key.", (prove) => {
  prove("of an open and of a guarded server", async () => {
    for (const name of ["plain", "keyed"] as const) {
      for (const prefix of prefixes) {
        expect(await read(await server(name), `${prefix}/health`)).toMatchObject({ status: "ok" });
      }
    }
  });
});

rule(
  "20.5",
  "`GET /openapi.json` describes the routes and the request with the limits in force.",
  (prove) => {
    prove("the document names the routes and the largest logprobs", async () => {
      for (const [name, logprobs] of [
        ["plain", 5],
        ["wide", 20],
      ] as const) {
        const document = (await read(await server(name), "/openapi.json")) as {
          openapi: string;
          paths: Record<string, unknown>;
          components: { schemas: Record<string, { properties: Record<string, unknown> }> };
        };
        expect(document.openapi).toMatch(/^3\.1\./);
        expect(Object.keys(document.paths)).toContain("/v1/completions");
        const request = document.components.schemas.CreateCompletionRequest?.properties ?? {};
        expect(JSON.stringify(request.logprobs)).toContain(`"maximum":${logprobs}`);
        expect(Object.keys(request)).toEqual(
          expect.arrayContaining(["prompt", "suffix", "best_of", "seed"]),
        );
      }
    });
  },
);

rule("20.6", "Routes work without `/v1` in front and with a slash behind.", (prove) => {
  prove("four ways to one answer", async () => {
    const api = await server("plain");
    const body = { prompt: "The river was", max_tokens: 4, seed: 1 };
    const expected = choiceOf(await api.complete(body));
    for (const path of ["/completions", "/completions/", "/v1/completions/", "/v1//completions"]) {
      expect(choiceOf(await api.complete(body, path)), path).toEqual(expected);
    }
  });
});

rule("20.7", "`GET /v1/engines` lists the models under the name that they had before.", (prove) => {
  prove("list and entry", async () => {
    const api = await server("plain");
    const { data } = (await read(api, "/v1/engines")) as { data: { id: string; object: string }[] };
    expect(data.every(({ object }) => object === "engine")).toBe(true);
    expect(data.map(({ id }) => id)).toContain("davinci-002");
    expect(await read(api, "/v1/engines/davinci-002")).toMatchObject({
      id: "davinci-002",
      ready: true,
    });
  });
});

rule(
  "20.8",
  "A guarded server wants the key on every route but health and the description.",
  (prove) => {
    prove("401 without, 200 with the key", async () => {
      const api = await server("keyed");
      const headers = { authorization: `Bearer ${apiKey}` };
      for (const path of ["/v1/models", "/tokenizer_info", "/v1/engines"]) {
        expect((await api.send(path)).status, path).toBe(401);
        expect((await api.send(path, { headers })).status, path).toBe(200);
      }
      expect((await api.send("/openapi.json")).status).toBe(200);
    });
  },
);
