import { expect, test } from "vitest";
import { ChunkFolder } from "./fold-chunks.ts";

const logprobs = (token: string, offset: number) => ({
  tokens: [token],
  token_logprobs: [-offset],
  top_logprobs: [{ [token]: -offset }],
  text_offset: [offset],
});

test("choices of a stream become those of one answer, in the order of their index", () => {
  const folder = new ChunkFolder();
  const head = { id: "c", object: "text_completion", created: 1, model: "m", usage: null };
  const chunks = [
    { index: 1, text: "b", logprobs: logprobs("b", 1), finish_reason: null },
    { index: 0, text: "a", logprobs: logprobs("a", 1), finish_reason: null },
    { index: 1, text: "c", logprobs: logprobs("c", 2), finish_reason: null },
    { index: 0, text: "", logprobs: { tokens: [], token_logprobs: [] }, finish_reason: "stop" },
    { index: 1, text: "", logprobs: null, finish_reason: "length" },
  ];
  for (const choice of chunks) folder.add({ ...head, obfuscation: "xyz", choices: [choice] });
  folder.add({ ...head, choices: [], usage: { total_tokens: 4 } });
  expect(folder.parts).toBe(3);
  expect(folder.whole()).toEqual({
    id: "c",
    object: "text_completion",
    created: 1,
    model: "m",
    usage: { total_tokens: 4 },
    choices: [
      { index: 0, text: "a", finish_reason: "stop", logprobs: logprobs("a", 1) },
      {
        index: 1,
        text: "bc",
        finish_reason: "length",
        logprobs: {
          tokens: ["b", "c"],
          token_logprobs: [-1, -2],
          top_logprobs: [{ b: -1 }, { c: -2 }],
          text_offset: [1, 2],
        },
      },
    ],
  });
});

test("a choice without its end is no answer", () => {
  const folder = new ChunkFolder();
  folder.add({ choices: [{ index: 0, text: "a", finish_reason: "stop" }] });
  folder.add({ choices: [{ index: 1, text: "b" }] });
  expect(() => folder.whole()).toThrow("ended before the completion did");
  expect(() => new ChunkFolder().whole()).toThrow("ended before the completion did");
});
