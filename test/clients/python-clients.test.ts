/** openai for Python: 0.28, which most published research code still uses, and the current one. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { tinyGgufFile } from "../../src/llama/testing/tiny-gguf.ts";
import { type ServerProcess, startServer } from "../support/server-process.ts";
import { pythonProblem, runPythonClient } from "./support/python-client.ts";
import type { WireAnswer, WireLogprobs } from "./support/requests.ts";

const key = "sk-key-of-the-python-clients";
const requestId = expect.stringMatching(/^req_[0-9a-f]{32}$/);
const problem = pythonProblem();
/** The first run on a machine downloads the packages. */
const installMs = 300_000;

let server: ServerProcess;

beforeAll(async () => {
  const options = ["--api-key", key, "--model", tinyGgufFile()];
  server = await startServer(["--threads", "1", ...options]);
});

afterAll(async () => {
  await server?.stop();
});

interface LegacyResults {
  readonly completion: {
    readonly body: WireAnswer;
    readonly organization: string;
  };
  readonly stream: { readonly text: string; readonly finish_reasons: (string | null)[] };
  readonly score: readonly WireLogprobs[];
  readonly engines: {
    readonly ids: string[];
    readonly models: string[];
    readonly retrieved: string;
  };
  readonly asynchronous: string;
  readonly errors: Readonly<Record<string, object>>;
}

describe.skipIf(problem !== undefined)(`openai 0.28.1${skipped()}`, () => {
  let results: LegacyResults;

  beforeAll(async () => {
    results = (await runPythonClient("legacy", [server.url, key])) as LegacyResults;
  }, installMs);

  test("engine= completes through /v1/engines/{id}/completions, with its headers read", () => {
    const { body, organization } = results.completion;
    expect(body).toMatchObject({ object: "text_completion", model: "text-davinci-003" });
    expect(body.choices[0]?.index).toBe(0);
    expect(organization).toBe("completionist");
  });

  test("a stream gives the same text and ends with one finish reason", () => {
    const choice = results.completion.body.choices[0];
    expect(results.stream.text).toBe(choice?.text);
    const reasons = results.stream.finish_reasons;
    expect(reasons.filter((reason) => reason !== null)).toEqual([choice?.finish_reason]);
    expect(reasons.at(-1)).not.toBeNull();
  });

  test("scoring code gets null first and a value for every further token", () => {
    expect(results.score).toHaveLength(2);
    for (const { tokens, token_logprobs, text_offset } of results.score) {
      expect(token_logprobs[0]).toBeNull();
      for (const value of token_logprobs.slice(1)) expect(value).toBeLessThan(0);
      expect(text_offset).toHaveLength(tokens.length);
    }
    expect(results.score.map(({ tokens }) => tokens.join(""))).toEqual([
      "The river was high",
      "The bridge was closed",
    ]);
  });

  test("engines are listed and retrieved", () => {
    const { ids, models, retrieved } = results.engines;
    expect(ids).toContain("text-davinci-003");
    expect(models).toEqual(ids);
    expect(retrieved).toBe("text-davinci-003");
  });

  test("its asynchronous stream gives the same text", () => {
    expect(results.asynchronous).toBe(results.completion.body.choices[0]?.text);
  });

  test("errors are its own classes", () => {
    const { errors } = results;
    const range = { class: "InvalidRequestError", status: 400, param: "temperature" };
    expect(errors.range).toMatchObject({ ...range, request_id: requestId });
    expect(errors.stream).toMatchObject(range);
    expect(errors.engine).toMatchObject({ class: "InvalidRequestError", status: 404 });
    expect(errors.engine).toMatchObject({ code: "model_not_found" });
    expect(errors.key).toMatchObject({ class: "AuthenticationError", status: 401 });
  });
});

interface CurrentResults {
  readonly nulls: { readonly body: WireAnswer; readonly request_id: string };
  readonly stream: { readonly text: string; readonly usage: object };
  readonly extra_body: WireAnswer;
  readonly asynchronous: readonly string[];
  readonly errors: Readonly<Record<string, object>>;
}

describe.skipIf(problem !== undefined)(`openai 3.57.0${skipped()}`, () => {
  let results: CurrentResults;

  beforeAll(async () => {
    results = (await runPythonClient("current", [server.url, key])) as CurrentResults;
  }, installMs);

  test("None is sent as null and means the default", () => {
    const { body, request_id } = results.nulls;
    expect(body.choices[0]).toMatchObject({ index: 0, logprobs: null });
    expect(body.usage?.completion_tokens).toBeLessThanOrEqual(6);
    expect(request_id).toEqual(requestId);
  });

  test("a stream gives the same text and usage", () => {
    const { choices, usage } = results.nulls.body;
    expect(results.stream.text).toBe(choices[0]?.text);
    expect(results.stream.usage).toMatchObject({
      prompt_tokens: usage?.prompt_tokens,
      completion_tokens: usage?.completion_tokens,
    });
  });

  test("extra_body: what is known works, what is not is ignored", () => {
    const { choices, usage } = results.extra_body;
    expect(usage?.completion_tokens).toBe(6);
    const entries = (usage?.prompt_tokens ?? 0) + 6;
    expect(choices[0]?.logprobs?.tokens).toHaveLength(entries);
  });

  test("requests at once get the same answer", () => {
    const text = results.nulls.body.choices[0]?.text;
    expect(results.asynchronous).toEqual([text, text]);
  });

  test("errors are its own classes", () => {
    const { errors } = results;
    expect(errors.range).toMatchObject({
      class: "BadRequestError",
      status_code: 400,
      param: "temperature",
      code: "decimal_above_max_value",
      request_id: requestId,
    });
    expect(errors.model).toMatchObject({ class: "NotFoundError", code: "model_not_found" });
    expect(errors.key).toMatchObject({ class: "AuthenticationError", code: "invalid_api_key" });
    expect(errors.route).toMatchObject({ class: "NotFoundError", code: "unknown_url" });
  });
});

/** Stands in the name of what is skipped. */
function skipped(): string {
  return problem === undefined ? "" : ` (skipped: ${problem})`;
}
