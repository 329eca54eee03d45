/** Section 15: errors, their words, and the order in which they are found. */
import { expect } from "vitest";
import { type Api, completionsPath, errorOf, type SendOptions } from "../support/api.ts";
import { rulesOf } from "../support/rule.ts";
import { apiKey, modelName, server } from "../support/servers.ts";

const rule = rulesOf(import.meta.url);
const body = { prompt: "x", max_tokens: 1 };
const type = "invalid_request_error";

async function refused(api: Api, path: string, options: SendOptions) {
  const { status, headers, text } = await api.send(path, options);
  return { headers, error: { status, ...errorOf(text) } };
}

rule(
  "15.1",
  'Every error is `{"error": {message, type, param, code}}` with all four keys; `code` and `param` are texts or null.',
  (prove) => {
    prove("over errors of all kinds", async () => {
      const api = await server("plain");
      const all: [string, SendOptions][] = [
        [completionsPath, { body: "{" }],
        [completionsPath, { body: { ...body, n: 0 } }],
        [completionsPath, { body: { ...body, model: "none" } }],
        [completionsPath, {}],
        ["/v1/nothing", { body }],
        ["/v1/models/none", {}],
        ["/tokenize", { body: {} }],
        ["/v1/models", { headers: { origin: "https://example.org" } }],
      ];
      for (const [path, options] of all) {
        const { error, headers } = await refused(api, path, options);
        expect(error.message).toBeTypeOf("string");
        expect(error.type).toBe(type);
        for (const value of [error.param, error.code])
          expect(value === null || typeof value === "string").toBe(true);
        expect(headers.get("content-type")).toBe("application/json");
      }
    });
  },
);

rule(
  "15.2",
  "Without a key a guarded server answers 401 in OpenAI's words, with a wrong one 401 with the code `invalid_api_key` and the key masked.",
  (prove) => {
    prove("no key, an empty one, another scheme, a wrong one", async () => {
      const api = await server("keyed");
      for (const headers of [
        {},
        { authorization: "Bearer " },
        { authorization: `Basic ${apiKey}` },
      ]) {
        const { error } = await refused(api, completionsPath, {
          body,
          headers: headers as Record<string, string>,
        });
        expect(error).toMatchObject({ status: 401, type, param: null, code: null });
        expect(error.message).toMatch(
          /^You didn't provide an API key\. You need to provide your API key in an Authorization header using Bearer auth \(i\.e\. Authorization: Bearer YOUR_KEY\)/,
        );
      }
      const wrong = "sk-wrong-0123456789-abcdefghij";
      const { error } = await refused(api, completionsPath, {
        body,
        headers: { authorization: `Bearer ${wrong}` },
      });
      expect(error).toMatchObject({ status: 401, type, param: null, code: "invalid_api_key" });
      expect(error.message).toMatch(/^Incorrect API key provided: sk-wrong\*+ghij\./);
      expect(error.message).not.toContain(wrong);
    });
  },
);

rule("15.3", "A body that is no JSON, and JSON that is no object, is refused.", (prove) => {
  prove("OpenAI's words for text that does not parse", async () => {
    const api = await server("plain");
    const json = { headers: { "content-type": "application/json" } };
    for (const text of ["{", "", "{'a':1}", '{"prompt": NaN}', "\u00ff"]) {
      const error = await api.refuse(text, json);
      expect(error).toMatchObject({ status: 400, type, param: null, code: null });
      expect(error.message).toMatch(
        /^We could not parse the JSON body of your request\. \(HINT: This likely means you aren't using your HTTP library correctly\. The OpenAI API expects a JSON payload, but what was sent was not valid JSON\./,
      );
    }
    for (const text of ["[]", "null", "5", '"x"'])
      expect((await api.refuse(text, json)).status).toBe(400);
  });
});

rule(
  "15.4",
  "Where a model must be named, a request without one gets `you must provide a model parameter`; an unknown one is a 404 with the code `model_not_found`.",
  (prove) => {
    prove("both errors, word by word", async () => {
      const api = await server("strict");
      expect(await api.refuse(body)).toEqual({
        ...{ status: 400, type, param: null, code: null },
        message: "you must provide a model parameter",
      });
      expect(await api.refuse({ ...body, model: "no-such" })).toEqual({
        ...{ status: 404, type, param: null, code: "model_not_found" },
        message: "The model `no-such` does not exist or you do not have access to it.",
      });
      expect((await api.complete({ ...body, model: modelName })).model).toBe(modelName);
    });
  },
);

rule(
  "15.5",
  "A value out of range names the field, the side, the limit and the value.",
  (prove) => {
    prove("decimals and integers, above and below", async () => {
      const api = await server("plain");
      expect(await api.refuse({ ...body, temperature: 99 })).toEqual({
        ...{ status: 400, type, param: "temperature", code: "decimal_above_max_value" },
        message:
          "Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 99.0 instead.",
      });
      expect((await api.refuse({ ...body, top_p: -1 })).message).toBe(
        "Invalid 'top_p': decimal below minimum value. Expected a value >= 0, but got -1.0 instead.",
      );
      expect((await api.refuse({ ...body, n: 200 })).message).toBe(
        "Invalid 'n': integer above maximum value. Expected a value <= 128, but got 200 instead.",
      );
      expect((await api.refuse({ ...body, max_tokens: -5 })).message).toBe(
        "Invalid 'max_tokens': integer below minimum value. Expected a value >= 0, but got -5 instead.",
      );
    });
  },
);

rule(
  "15.6",
  "A value of the wrong type names the field, what was expected and what came.",
  (prove) => {
    prove("for every field of the contract", async () => {
      const api = await server("plain");
      for (const field of [
        "model",
        "suffix",
        "max_tokens",
        "n",
        "best_of",
        "echo",
        "logprobs",
        "temperature",
        "top_p",
        "frequency_penalty",
        "presence_penalty",
        "logit_bias",
        "seed",
        "stop",
        "stream",
        "stream_options",
        "user",
        "prompt",
      ]) {
        const error = await api.refuse({ ...body, [field]: true === isFlag(field) ? 1 : true });
        expect(error, field).toMatchObject({
          status: 400,
          type,
          param: field,
          code: "invalid_type",
        });
        expect(error.message, field).toMatch(
          new RegExp(`^Invalid type for '${field}': expected an? .*, but got an? .* instead\\.$`),
        );
      }
    });

    const isFlag = (field: string): boolean => field === "echo" || field === "stream";
  },
);
