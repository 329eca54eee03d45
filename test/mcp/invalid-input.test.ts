/** What the completion tool refuses: every type, range and form that its schema rules out. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type AgentHost,
  call,
  complete,
  completionTool,
  engineOptions,
  errorOf,
  startHost,
} from "./support/agent-host.ts";

let host: AgentHost;

beforeAll(async () => {
  host = await startHost(engineOptions());
});

afterAll(() => host?.close());

const good = { model: "example", prompt: "Hi" };

/** Field, and values that are wrong for it. */
const wrong: readonly (readonly [field: string, values: readonly unknown[]])[] = [
  ["model", [null, 5, ["example"]]],
  ["prompt", [5, true, {}, [1, "a"], [1.5], [[]], [[1], []], [["a"]], [null]]],
  ["best_of", [-1, 21, 1.5, "2", true]],
  ["echo", ["true", 1]],
  ["frequency_penalty", [-2.1, 2.1, "0"]],
  ["logit_bias", [[], "50256", { "1": 0.5 }, { "1": "2" }, { "1": null }]],
  ["logprobs", [-1, 6, 0.5, true]],
  ["max_tokens", [-1, 1.5, "16"]],
  ["n", [0, 129, 1.5, "1"]],
  ["presence_penalty", [-2.1, 2.1, "0"]],
  ["seed", [0.5, "1"]],
  ["stop", [5, [], ["a", "b", "c", "d", "e"], ["a", 1], {}]],
  ["stream", [true, "false", 0]],
  ["stream_options", [true, [], { include_usage: 1 }, { include_obfuscation: null }]],
  ["suffix", [5, ["a"]]],
  ["temperature", [-0.1, 2.1, "1"]],
  ["top_p", [-0.1, 1.1, "1"]],
  ["user", [null, 5]],
];

describe.each(wrong)("%s", (field, values) => {
  test.each(values.map((value) => ({ value })))("is not $value", async ({ value }) => {
    const error = errorOf(await complete(host.client, { ...good, [field]: value })) as {
      param: string | null;
      message: string;
    };
    expect(error).toMatchObject({ type: "invalid_request_error" });
    expect(`${error.param} ${error.message}`).toContain(field);
  });
});

test.each([
  ["no body", {}, { code: "missing_required_parameter", param: "body" }],
  ["no object", { body: "Hi" }, { code: "invalid_type", param: "body" }],
  ["no model", { body: { prompt: "Hi" } }, { param: "model" }],
  ["no prompt", { body: { model: "example" } }, { param: "prompt" }],
  ["more than the body", { body: good, n: 2 }, { message: expect.stringContaining("n") }],
])("%s is refused", async (_, given, error) => {
  expect(errorOf(await call(host.client, completionTool, given))).toMatchObject({
    type: "invalid_request_error",
    ...error,
  });
});

/** The schema accepts these; the API does not. */
test.each([
  [{ model: "gpt-5" }, { code: "model_not_found", message: expect.stringContaining("gpt-5") }],
  [{ max_tokens: 9000 }, { code: "context_length_exceeded" }],
  [{ prompt: [99_999_999] }, { message: expect.stringContaining("Invalid token in prompt") }],
  [{ prompt: [] }, { param: "prompt", code: "empty_array" }],
  [{ n: 3, best_of: 2 }, { param: "best_of" }],
  [{ logit_bias: { "1": 101 } }, { param: "logit_bias.1" }],
  [{ logit_bias: { cat: 1 } }, { param: "logit_bias" }],
])("an error of the API is the result of the call: %j", async (fields, error) => {
  const result = await complete(host.client, { ...good, ...fields });
  expect(errorOf(result)).toMatchObject({ type: "invalid_request_error", ...error });
  expect(result.structuredContent).toBeUndefined();
});

test("fields that the request does not have are ignored, or refused by a strict command", async () => {
  const body = { ...good, mirostat: 2 };
  expect((await complete(host.client, body)).isError).toBeUndefined();
  const strict = await startHost([...engineOptions(), "--strict"]);
  try {
    expect(errorOf(await complete(strict.client, body))).toMatchObject({
      message: expect.stringContaining("mirostat"),
    });
  } finally {
    await strict.close();
  }
});
