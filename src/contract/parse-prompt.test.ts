import { describe, expect, test } from "vitest";
import { ApiError } from "./errors.ts";
import { parsePrompts } from "./parse-prompt.ts";

function refusal(prompt: unknown): ApiError {
  try {
    parsePrompts(prompt);
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
  throw new Error("the prompt was accepted");
}

const start = { kind: "documentStart", text: "" };
const spelledStart = { kind: "documentStart", text: "<|endoftext|>" };

describe("the four forms", () => {
  test.each<[string, unknown, unknown]>([
    ["text", "a", [{ kind: "text", text: "a" }]],
    [
      "texts",
      ["a", "b"],
      [
        { kind: "text", text: "a" },
        { kind: "text", text: "b" },
      ],
    ],
    ["one text in an array", ["a"], [{ kind: "text", text: "a" }]],
    ["token ids", [1, 0, 2], [{ kind: "tokens", tokens: [1, 0, 2] }]],
    [
      "lists of ids",
      [[1], [2, 3]],
      [
        { kind: "tokens", tokens: [1] },
        { kind: "tokens", tokens: [2, 3] },
      ],
    ],
    ["null", null, [start]],
    ["nothing", undefined, [start]],
    ["an empty text", "", [start]],
    ["the document start by name", "<|endoftext|>", [spelledStart]],
    ["document starts in an array", ["", "<|endoftext|>"], [start, spelledStart]],
    [
      "longer text that begins with it",
      "<|endoftext|>a",
      [{ kind: "text", text: "<|endoftext|>a" }],
    ],
  ])("%s", (_, prompt, expected) => expect(parsePrompts(prompt)).toEqual(expected));

  test("half a surrogate pair becomes the replacement character", () => {
    expect(parsePrompts(["a\ud83d"])).toEqual([{ kind: "text", text: "a\ufffd" }]);
  });

  test("200,000 ids are taken as they are", () => {
    const ids = Array.from({ length: 200_000 }, (_, index) => index);
    expect(parsePrompts(ids)).toEqual([{ kind: "tokens", tokens: ids }]);
  });
});

describe("refused", () => {
  test.each<[string, unknown, string, string]>([
    ["an empty array", [], "emptyArray", "prompt"],
    ["an empty list of ids", [[]], "emptyArray", "prompt[0]"],
    ["an empty list later", [[1], []], "emptyArray", "prompt[1]"],
    ["a number", 5, "invalidType", "prompt"],
    ["an object", {}, "invalidType", "prompt"],
    ["true", true, "invalidType", "prompt"],
    ["text and id", ["a", 1], "invalidType", "prompt[1]"],
    ["id and text", [1, "a"], "invalidType", "prompt[1]"],
    ["id and list", [1, [2]], "invalidType", "prompt[1]"],
    ["list and id", [[1], 2], "invalidType", "prompt[1]"],
    ["null among texts", ["a", null], "invalidType", "prompt[1]"],
    ["null first", [null], "invalidType", "prompt[0]"],
    ["a fraction", [1.5], "invalidType", "prompt[0]"],
    ["a fraction in a list", [[1, 2.5]], "invalidType", "prompt[0][1]"],
    ["too large a number", [Infinity], "invalidType", "prompt[0]"],
    ["deeper lists", [[[1]]], "invalidType", "prompt[0][0]"],
  ])("%s", (_, prompt, name, param) => {
    const error = refusal(prompt);
    expect(error.errorName).toBe(name);
    expect(error.param).toBe(param);
    expect(error.status).toBe(400);
  });
});
