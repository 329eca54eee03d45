import { describe, expect, test } from "vitest";
import { ApiError } from "./errors.ts";
import { readModelName } from "./parse-request.ts";
import { extended, parse, refusal } from "./testing/parse.ts";

describe("types", () => {
  const cases: readonly [string, unknown, string][] = [
    ["max_tokens", "16", "expected an integer, but got a string instead"],
    ["max_tokens", 1.5, "expected an integer, but got a decimal number instead"],
    ["n", true, "expected an integer, but got a boolean instead"],
    ["n", 200.5, "expected an integer, but got a decimal number instead"],
    ["temperature", "1", "expected a decimal, but got a string instead"],
    ["temperature", [1], "expected a decimal, but got an array instead"],
    ["echo", "true", "expected a boolean, but got a string instead"],
    ["echo", 1, "expected a boolean, but got an integer instead"],
    ["stream", "false", "expected a boolean, but got a string instead"],
    ["suffix", ["x"], "expected a string, but got an array instead"],
    ["user", 5, "expected a string, but got an integer instead"],
    ["model", 5, "expected a string, but got an integer instead"],
    ["seed", 0.5, "expected an integer, but got a decimal number instead"],
    ["seed", Infinity, "expected an integer, but got a number that is too large instead"],
    ["stop", 5, "expected a string or an array of strings, but got an integer instead"],
    ["stop", { a: 1 }, "expected a string or an array of strings, but got an object instead"],
    ["stream_options", true, "expected an object, but got a boolean instead"],
    ["stream_options", [], "expected an object, but got an array instead"],
    ["logit_bias", [], "expected an object, but got an array instead"],
    ["logit_bias", "x", "expected an object, but got a string instead"],
    ["top_k", "40", "expected an integer, but got a string instead"],
    ["stop_token_ids", 5, "expected an array, but got an integer instead"],
    ["ignore_eos", 0, "expected a boolean, but got an integer instead"],
  ];
  test.each(cases)("%s: %j is refused", (param, value, message) => {
    const error = refusal({ [param]: value });
    expect(error.body().error).toEqual({
      message: `Invalid type for '${param}': ${message}.`,
      type: "invalid_request_error",
      param,
      code: "invalid_type",
    });
    expect(error.status).toBe(400);
  });

  test("of elements and members are named by their path", () => {
    expect(refusal({ stop: ["a", 1] }).param).toBe("stop[1]");
    expect(refusal({ stream_options: { include_usage: "yes" } }).param).toBe(
      "stream_options.include_usage",
    );
    expect(refusal({ stop_token_ids: [1, "2"] }).param).toBe("stop_token_ids[1]");
    expect(refusal({ logit_bias: { "5": null } }).param).toBe("logit_bias.5");
    expect(refusal({ logit_bias: { "5": "1" } }).code).toBe("invalid_type");
  });

  test("other than an object are no body", () => {
    for (const body of [undefined, null, [], "x", 5, true]) {
      expect(refusal(body).errorName).toBe("bodyNotObject");
      expect(() => readModelName(body)).toThrow(ApiError);
    }
  });
});

describe("ranges", () => {
  const cases: readonly [string, number, string, string][] = [
    [
      "temperature",
      99,
      "decimal_above_max_value",
      "decimal above maximum value. Expected a value <= 2, but got 99.0 instead.",
    ],
    [
      "temperature",
      -0.1,
      "decimal_below_min_value",
      "decimal below minimum value. Expected a value >= 0, but got -0.1 instead.",
    ],
    [
      "top_p",
      1.01,
      "decimal_above_max_value",
      "decimal above maximum value. Expected a value <= 1, but got 1.01 instead.",
    ],
    [
      "frequency_penalty",
      -2.5,
      "decimal_below_min_value",
      "decimal below minimum value. Expected a value >= -2, but got -2.5 instead.",
    ],
    [
      "presence_penalty",
      3,
      "decimal_above_max_value",
      "decimal above maximum value. Expected a value <= 2, but got 3.0 instead.",
    ],
    [
      "n",
      0,
      "integer_below_min_value",
      "integer below minimum value. Expected a value >= 1, but got 0 instead.",
    ],
    [
      "n",
      129,
      "integer_above_max_value",
      "integer above maximum value. Expected a value <= 128, but got 129 instead.",
    ],
    [
      "best_of",
      21,
      "integer_above_max_value",
      "integer above maximum value. Expected a value <= 20, but got 21 instead.",
    ],
    [
      "best_of",
      -1,
      "integer_below_min_value",
      "integer below minimum value. Expected a value >= 0, but got -1 instead.",
    ],
    [
      "max_tokens",
      -1,
      "integer_below_min_value",
      "integer below minimum value. Expected a value >= 0, but got -1 instead.",
    ],
    [
      "logprobs",
      -1,
      "integer_below_min_value",
      "integer below minimum value. Expected a value >= 0, but got -1 instead.",
    ],
    [
      "top_k",
      -2,
      "integer_below_min_value",
      "integer below minimum value. Expected a value >= -1, but got -2 instead.",
    ],
    [
      "min_p",
      2,
      "decimal_above_max_value",
      "decimal above maximum value. Expected a value <= 1, but got 2.0 instead.",
    ],
    [
      "repetition_penalty",
      0,
      "decimal_below_min_value",
      "decimal below minimum value. Expected a value > 0, but got 0.0 instead.",
    ],
    [
      "repetition_penalty",
      11,
      "decimal_above_max_value",
      "decimal above maximum value. Expected a value <= 10, but got 11.0 instead.",
    ],
    [
      "min_tokens",
      -1,
      "integer_below_min_value",
      "integer below minimum value. Expected a value >= 0, but got -1 instead.",
    ],
  ];
  test.each(cases)("%s: %d is refused", (param, value, code, message) => {
    expect(refusal({ [param]: value }).body().error).toEqual({
      message: `Invalid '${param}': ${message}`,
      type: "invalid_request_error",
      param,
      code,
    });
  });

  test("of logprobs and stop name the profile that allows more", () => {
    const logprobs = refusal({ logprobs: 10 });
    expect(logprobs.code).toBe("integer_above_max_value");
    expect(logprobs.message).toContain("Expected a value <= 5, but got 10 instead.");
    expect(logprobs.message).toMatch(/extended.* 20/);
    const stop = refusal({ stop: ["1", "2", "3", "4", "5"] });
    expect(stop.body().error).toMatchObject({ param: "stop", code: "array_above_max_length" });
    expect(stop.message).toContain("maximum length 4, but got an array with length 5 instead.");
    expect(stop.message).toMatch(/extended.* 64/);
    expect(refusal({ stop: Array(5).fill("a") }).message).toBe(stop.message);
  });

  test("are wider under the extended profile", () => {
    const stop = Array.from({ length: 64 }, (_, index) => `s${index}`);
    expect(parse({ logprobs: 20, stop }, extended)).toMatchObject({ logprobs: 20, stop });
    expect(refusal({ logprobs: 21 }, extended).message).not.toContain("HINT");
    expect(refusal({ stop: [...stop, "x"] }, extended).param).toBe("stop");
  });

  test("of stop_token_ids and logit_bias are enforced", () => {
    const ids = Array.from({ length: 65 }, (_, index) => index);
    expect(refusal({ stop_token_ids: ids }).code).toBe("array_above_max_length");
    const entries = Array.from({ length: 1025 }, (_, index) => [String(index), 1]);
    const error = refusal({ logit_bias: Object.fromEntries(entries) });
    expect(error.code).toBe("object_above_max_properties");
    const fits = parse({ logit_bias: Object.fromEntries(entries.slice(1)) });
    expect(fits.logitBias.size).toBe(1024);
    expect(refusal({ logit_bias: { "1": 101 } }).code).toBe("decimal_above_max_value");
    expect(refusal({ logit_bias: { "1": -100.5 } }).code).toBe("decimal_below_min_value");
  });
});

describe("logit_bias keys", () => {
  test.each(["You", "-1", "1.5", "", " 1", "01", "1e3", "__proto__", "constructor"])(
    "%j is no token id",
    (key) => {
      const error = refusal(JSON.parse(`{"logit_bias":{${JSON.stringify(key)}:1}}`));
      expect(error.body().error).toEqual({
        message: `Invalid key in 'logit_bias': ${key}. You should only be submitting non-negative integers.`,
        type: "invalid_request_error",
        param: "logit_bias",
        code: null,
      });
    },
  );

  test("are cut to 100 characters in the message", () => {
    const key = "k".repeat(5000);
    expect(refusal({ logit_bias: { [key]: 1 } }).message.length).toBeLessThan(250);
  });
});
