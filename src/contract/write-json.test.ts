import { describe, expect, test } from "vitest";
import type { CompletionChunk, CompletionResponse, Usage } from "./responses.ts";
import { writeChunk, writeResponse } from "./write-json.ts";

const usage: Usage = {
  prompt_tokens: 1,
  completion_tokens: 0,
  total_tokens: 1,
  prompt_tokens_details: { cached_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 0 },
};

const response: CompletionResponse = {
  system_fingerprint: "fp",
  usage,
  choices: [
    {
      finish_reason: "length",
      index: 0,
      text: 'say "hi"\n',
      logprobs: {
        text_offset: [0, 3],
        top_logprobs: [
          null,
          [
            ["hi", Math.fround(-0.1)],
            ["__proto__", -1],
            ["7", -2],
            ["1", -3],
          ],
        ],
        token_logprobs: [null, Math.fround(-0.1)],
        tokens: ["say", "hi"],
      },
    },
  ],
  model: "m",
  created: 1700000000,
  object: "text_completion",
  id: "cmpl-1",
};

const chunk: CompletionChunk = {
  id: "cmpl-1",
  object: "text_completion",
  created: 1,
  choices: [{ text: "", index: 3, logprobs: null, finish_reason: null }],
  model: "m",
  system_fingerprint: "fp",
};

const usageJson =
  '{"prompt_tokens":1,"completion_tokens":0,"total_tokens":1,' +
  '"prompt_tokens_details":{"cached_tokens":0},"completion_tokens_details":{"reasoning_tokens":0}}';

describe("writeResponse", () => {
  test("writes one line in the order of OpenAI's answers", () => {
    expect(writeResponse(response)).toBe(
      '{"id":"cmpl-1","object":"text_completion","created":1700000000,"model":"m","choices":[' +
        '{"text":"say \\"hi\\"\\n","index":0,"logprobs":{"tokens":["say","hi"],' +
        '"token_logprobs":[null,-0.1],' +
        '"top_logprobs":[null,{"hi":-0.1,"__proto__":-1,"7":-2,"1":-3}],"text_offset":[0,3]},' +
        `"finish_reason":"length"}],"usage":${usageJson},"system_fingerprint":"fp"}`,
    );
  });
  test("writes odd text as valid JSON on one line", () => {
    const text = "\u2028\u0000\ud800 \r\n";
    const choices = [{ text, index: 0, logprobs: null, finish_reason: null }];
    const line = writeResponse({ ...response, choices });
    expect(line).not.toMatch(/[\r\n]/);
    expect(JSON.parse(line).choices[0].text).toBe(text);
  });
});

describe("writeChunk", () => {
  test("has no usage and no obfuscation unless they are there", () => {
    expect(writeChunk(chunk)).toBe(
      '{"id":"cmpl-1","object":"text_completion","created":1,"choices":[{"text":"","index":3,' +
        '"logprobs":null,"finish_reason":null}],"model":"m","system_fingerprint":"fp"}',
    );
  });
  test("writes usage, null or not, and obfuscation at the end", () => {
    expect(writeChunk({ ...chunk, usage: null })).toMatch(/"fp","usage":null}$/);
    const line = writeChunk({ ...chunk, choices: [], usage, obfuscation: "ab" });
    expect(line).toContain('"choices":[],');
    expect(line).toContain(`"usage":${usageJson},"obfuscation":"ab"}`);
  });
});
