import { describe, expect, test } from "vitest";
import { readModelName } from "./parse-request.ts";
import { parse, refusal, strict } from "./testing/parse.ts";

const json = (text: string) => parse(JSON.parse(text));

const defaults = {
  model: undefined,
  prompts: [{ kind: "documentStart", text: "" }],
  suffix: undefined,
  maxTokens: 16,
  n: 1,
  bestOf: 1,
  echo: false,
  logprobs: undefined,
  temperature: 1,
  topP: 1,
  frequencyPenalty: 0,
  presencePenalty: 0,
  logitBias: new Map(),
  seed: undefined,
  stop: [],
  stream: false,
  streamOptions: { includeUsage: false, includeObfuscation: false, continuousUsageStats: false },
  user: undefined,
  extensions: {
    topK: -1,
    minP: 0,
    repetitionPenalty: 1,
    ignoreEos: false,
    minTokens: 0,
    stopTokenIds: [],
    includeStopStringInOutput: false,
    skipSpecialTokens: true,
  },
  ignoredParameters: [],
};

const contractFields = [
  "model",
  "prompt",
  "best_of",
  "echo",
  "frequency_penalty",
  "presence_penalty",
  "logit_bias",
  "logprobs",
  "max_tokens",
  "n",
  "seed",
  "stop",
  "stream",
  "stream_options",
  "suffix",
  "temperature",
  "top_p",
  "user",
];
const extensionFields = [
  "top_k",
  "min_p",
  "repetition_penalty",
  "ignore_eos",
  "min_tokens",
  "stop_token_ids",
  "include_stop_str_in_output",
  "skip_special_tokens",
];
const fields = [...contractFields, ...extensionFields];

describe("defaults", () => {
  test("fill an empty body", () => expect(parse({})).toEqual(defaults));

  test("stand for null in every field", () => {
    expect(parse(Object.fromEntries(fields.map((name) => [name, null])))).toEqual(defaults);
    expect(
      parse({
        stream: true,
        stream_options: {
          include_usage: null,
          include_obfuscation: null,
          continuous_usage_stats: null,
        },
      }),
    ).toEqual({ ...defaults, stream: true });
  });
});

describe("a full request", () => {
  test("keeps every value", () => {
    const request = parse({
      model: "m",
      prompt: "hello",
      suffix: "end",
      max_tokens: 0,
      n: 2,
      best_of: 3,
      logprobs: 5,
      temperature: 2,
      top_p: 0,
      frequency_penalty: -2,
      presence_penalty: 2,
      logit_bias: { "50256": -100, "0": 0.5 },
      seed: 2 ** 60,
      stop: ["a", "b", "a", ""],
      user: "u",
      top_k: 40,
      min_p: 0.1,
      repetition_penalty: 1.1,
      ignore_eos: true,
      min_tokens: 0,
      stop_token_ids: [1, 2, 1],
      include_stop_str_in_output: true,
      skip_special_tokens: false,
    });
    expect(request).toEqual({
      ...defaults,
      model: "m",
      prompts: [{ kind: "text", text: "hello" }],
      suffix: "end",
      maxTokens: 0,
      n: 2,
      bestOf: 3,
      logprobs: 5,
      temperature: 2,
      topP: 0,
      frequencyPenalty: -2,
      presencePenalty: 2,
      logitBias: new Map([
        [50256, -100],
        [0, 0.5],
      ]),
      seed: 2 ** 60,
      stop: ["a", "b"],
      user: "u",
      extensions: {
        topK: 40,
        minP: 0.1,
        repetitionPenalty: 1.1,
        ignoreEos: true,
        minTokens: 0,
        stopTokenIds: [1, 2],
        includeStopStringInOutput: true,
        skipSpecialTokens: false,
      },
    });
  });

  test("takes floats with whole values for integers", () => {
    const text = '{"max_tokens":1e2,"n":2.0,"logprobs":1.0,"seed":7.0,"prompt":[5.0,1e1]}';
    expect(json(text)).toMatchObject({
      maxTokens: 100,
      n: 2,
      logprobs: 1,
      seed: 7,
      prompts: [{ kind: "tokens", tokens: [5, 10] }],
    });
  });

  test("takes 64-bit seeds, and negative ones as absent", () => {
    expect(json('{"seed":9223372036854775807}').seed).toBe(2 ** 63);
    expect(parse({ seed: -1 }).seed).toBeUndefined();
    expect(parse({ seed: 0 }).seed).toBe(0);
    expect(json('{"seed":-9223372036854775808}').seed).toBeUndefined();
    expect(() => json('{"seed":18446744073709551616}')).toThrow(/'seed': integer above maximum/);
    expect(() => json('{"seed":-18446744073709551616}')).toThrow(/'seed': integer below minimum/);
  });

  test("takes an empty suffix, empty stops and an empty model name as absent", () => {
    expect(parse({ suffix: "", stop: "", model: "" })).toEqual(defaults);
    expect(parse({ stop: [] })).toEqual(defaults);
    expect(parse({ stop: "x" }).stop).toEqual(["x"]);
  });

  test("makes half surrogates of suffix and stop well-formed", () => {
    const request = json('{"suffix":"a\\ud800","stop":["\\udc00b"]}');
    expect(request.suffix).toBe("a\ufffd");
    expect(request.stop).toEqual(["\ufffdb"]);
  });
});

describe("n and best_of", () => {
  test("best_of absent, null or 0 means n", () => {
    expect(parse({ n: 128 }).bestOf).toBe(128);
    expect(parse({ n: 3, best_of: null }).bestOf).toBe(3);
    expect(parse({ n: 3, best_of: 0 }).bestOf).toBe(3);
  });
  test("best_of below n is refused", () => {
    const error = refusal({ n: 2, best_of: 1 });
    expect(error.param).toBe("best_of");
    expect(error.message).toContain("'n' (currently 2) to be at most 'best_of' (currently 1)");
  });
  test("best_of above n cannot be streamed, best_of equal to n can", () => {
    expect(refusal({ n: 1, best_of: 2, stream: true }).errorName).toBe("bestOfStream");
    expect(parse({ n: 2, best_of: 2, stream: true }).bestOf).toBe(2);
  });
  test("prompts times candidates stay within 2048", () => {
    const prompt = Array.from({ length: 16 }, () => "x");
    expect(parse({ prompt, n: 128 }).prompts).toHaveLength(16);
    expect(refusal({ prompt: [...prompt, "x"], n: 128 }).errorName).toBe("tooManyCandidates");
  });
});

describe("fields together", () => {
  test("min_tokens must not exceed max_tokens", () => {
    expect(refusal({ min_tokens: 17 }).param).toBe("min_tokens");
    expect(parse({ min_tokens: 16 }).extensions.minTokens).toBe(16);
  });
  test("echo, suffix and logprobs exclude each other, two of them do not", () => {
    expect(refusal({ echo: true, suffix: "x", logprobs: 0 }).param).toBe("suffix");
    expect(parse({ echo: true, suffix: "", logprobs: 0 }).logprobs).toBe(0);
    expect(parse({ echo: true, suffix: "x" }).suffix).toBe("x");
  });
  test("stream_options count only with stream", () => {
    const options = {
      include_usage: true,
      continuous_usage_stats: true,
      include_obfuscation: true,
    };
    expect(parse({ stream_options: options })).toEqual(defaults);
    expect(parse({ stream: true, stream_options: options }).streamOptions).toEqual({
      includeUsage: true,
      includeObfuscation: true,
      continuousUsageStats: true,
    });
    expect(refusal({ stream_options: options }, strict).param).toBe("stream_options");
    expect(parse({ stream_options: null }, strict)).toEqual(defaults);
  });
});

describe("unknown fields", () => {
  test("are ignored and listed in order, except nulls", () => {
    const body = JSON.parse('{"zeta":1,"__proto__":{},"typical_p":1,"alpha":null}');
    expect(parse(body).ignoredParameters).toEqual(["zeta", "__proto__", "typical_p"]);
  });
  test("of stream_options are listed with their path", () => {
    const body = { stream: true, stream_options: { other: 1, none: null } };
    expect(parse(body).ignoredParameters).toEqual(["stream_options.other"]);
  });
  test("are refused in strict mode", () => {
    expect(refusal({ a: 1 }, strict).message).toBe("Unrecognized request argument supplied: a");
    expect(refusal({ a: 1, b: 2, c: null }, strict).message).toBe(
      "Unrecognized request arguments supplied: a, b",
    );
    expect(parse({ a: null }, strict)).toEqual(defaults);
  });
  test("extensions are known in strict mode", () => {
    expect(parse({ top_k: 5, ignore_eos: false }, strict).extensions.topK).toBe(5);
  });
  test("a flood of them makes a short message", () => {
    const body = Object.fromEntries(
      Array.from({ length: 5000 }, (_, index) => [`f${index}`.padEnd(300, "x"), 1]),
    );
    expect(refusal(body, strict).message.length).toBeLessThan(3000);
  });
});

describe("readModelName", () => {
  test("reads the name and nothing else", () => {
    expect(readModelName({ model: "m", n: "wrong" })).toBe("m");
    expect(readModelName({})).toBeUndefined();
    expect(readModelName({ model: null })).toBeUndefined();
    expect(() => readModelName({ model: 5 })).toThrow("Invalid type for 'model'");
  });
});
