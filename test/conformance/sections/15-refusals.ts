/** Section 15, continued: methods, media types, sizes, and the order of all checks. */
import { expect } from "vitest";
import { type Api, completionsPath, errorOf, type SendOptions } from "../support/api.ts";
import { rulesOf } from "../support/rule.ts";
import { modelName, type ServerName, server } from "../support/servers.ts";

const rule = rulesOf(import.meta.url);
const body = { prompt: "x", max_tokens: 1 };
const type = "invalid_request_error";

async function refused(api: Api, path: string, options: SendOptions) {
  const { status, headers, text } = await api.send(path, options);
  return { headers, error: { status, ...errorOf(text) } };
}

rule(
  "15.7",
  "Another method on a known URL is a 405 with an `Allow` header; an unknown URL is a 404 with the code `unknown_url`.",
  (prove) => {
    prove("GET, PUT and DELETE on completions, POST on models, any unknown path", async () => {
      const api = await server("plain");
      for (const method of ["GET", "PUT", "DELETE", "PATCH"]) {
        const { error, headers } = await refused(api, completionsPath, { method });
        expect(error).toMatchObject({ status: 405, type, code: null });
        expect(error.message).toBe(
          `Not allowed to ${method} on /v1/completions. (HINT: Perhaps you meant to use a different HTTP method?)`,
        );
        expect(headers.get("allow")).toBe("POST");
      }
      expect((await refused(api, "/v1/models", { body })).headers.get("allow")).toMatch(/GET/);
      for (const path of ["/v1/nothing", "/", "/v1/completions/x"]) {
        const { error } = await refused(api, path, { body });
        expect(error).toMatchObject({ status: 404, type, param: null, code: "unknown_url" });
        expect(error.message).toBe(`Invalid URL (POST ${path})`);
      }
    });

    prove("chat completions are pointed to this route", async () => {
      const { error } = await refused(await server("plain"), "/v1/chat/completions", { body });
      expect(error.status).toBe(404);
      expect(error.message).toContain("v1/completions");
    });
  },
);

rule(
  "15.8",
  "JSON is accepted as `application/json`, without a type, and as text or a form where no web page sent it; anything else is a 415.",
  (prove) => {
    const as = (contentType: string, more: Record<string, string> = {}): SendOptions => ({
      body: JSON.stringify(body),
      headers: { "content-type": contentType, ...more },
    });

    prove("what curl sends passes, from a page it does not", async () => {
      const api = await server("plain");
      for (const options of [
        as("application/json; charset=utf-8"),
        as("application/x-www-form-urlencoded"),
        as("text/plain"),
        { body: JSON.stringify(body) },
      ]) {
        expect((await api.send(completionsPath, options)).status).toBe(200);
      }
      const origin = "http://localhost:3000";
      for (const options of [
        as("image/png"),
        as("application/xml"),
        as("text/plain", { origin }),
        as("application/x-www-form-urlencoded", { origin }),
      ]) {
        const { error } = await refused(api, completionsPath, options);
        expect(error).toMatchObject({
          status: 415,
          type,
          param: null,
          code: "unsupported_media_type",
        });
      }
    });
  },
);

rule(
  "15.9",
  "A body above the server's limit is a 413 with the code `request_too_large`.",
  (prove) => {
    prove("above 64 kB where that is the limit", async () => {
      const api = await server("strict");
      const error = await api.refuse({ ...body, model: modelName, user: "x".repeat(70_000) });
      expect(error).toMatchObject({ status: 413, type, param: null, code: "request_too_large" });
    });
  },
);

rule(
  "15.10",
  "Checks come in this order: key, method and URL, content type, JSON, model named, model known, fields, tokens, context.",
  (prove) => {
    prove("each request below has all later faults too", async () => {
      const faults: [ServerName, string, SendOptions, number | string][] = [
        [
          "keyed",
          "/v1/nothing",
          { method: "DELETE", body: "{", headers: { "content-type": "image/png" } },
          401,
        ],
        [
          "strict",
          completionsPath,
          { method: "PUT", body: "{", headers: { "content-type": "image/png" } },
          405,
        ],
        ["strict", completionsPath, { body: "{", headers: { "content-type": "image/png" } }, 415],
        [
          "strict",
          completionsPath,
          { body: '{"n":0', headers: { "content-type": "application/json" } },
          "We could not parse",
        ],
        [
          "strict",
          completionsPath,
          { body: { n: 0, prompt: [99999] } },
          "you must provide a model",
        ],
        ["strict", completionsPath, { body: { model: "none", n: 0, prompt: [99999] } }, 404],
        [
          "strict",
          completionsPath,
          { body: { model: modelName, n: 0, prompt: [99999], max_tokens: 9999 } },
          "Invalid 'n'",
        ],
        [
          "strict",
          completionsPath,
          { body: { model: modelName, prompt: [99999], max_tokens: 9999 } },
          "Invalid token in prompt",
        ],
        [
          "strict",
          completionsPath,
          { body: { model: modelName, prompt: [5], max_tokens: 9999 } },
          "maximum context length",
        ],
      ];
      for (const [name, path, options, expected] of faults) {
        const { error } = await refused(await server(name), path, options);
        if (typeof expected === "number") expect(error.status).toBe(expected);
        else expect(error.message).toContain(expected);
      }
    });
  },
);
