import { describe, expect, test } from "vitest";
import type { CompletionRequest } from "../contract/completion-request.ts";
import { limitsProfiles } from "../contract/limits.ts";
import { parseCompletionRequest } from "../contract/parse-request.ts";
import type { Choice, Usage } from "../contract/responses.ts";
import { FakeEngine, scriptedLogits } from "../engine/testing/fake-engine.ts";
import { testVocabulary } from "../engine/testing/vocabulary.ts";
import { startCompletion } from "./complete.ts";

const vocabulary = testVocabulary({ tokens: [" be", " or", "not", "To"] });

function requestOf(body: Record<string, unknown>): CompletionRequest {
  return parseCompletionRequest(body, { limits: limitsProfiles.openai, strict: false });
}

/** An engine that goes on with the tokens of `script` after a prompt of `promptLength` tokens. */
function engineFor(promptLength: number, script: readonly number[]): FakeEngine {
  return new FakeEngine({ vocabulary, logits: scriptedLogits(vocabulary, promptLength, script) });
}

interface Answer {
  readonly parts: Choice[];
  readonly usage: Usage;
}

async function answer(engine: FakeEngine, body: Record<string, unknown>): Promise<Answer> {
  const model = { engine, insertion: { kind: "auto" as const } };
  const { signal } = new AbortController();
  const run = await startCompletion(requestOf({ temperature: 0, ...body }), model, signal);
  const parts: Choice[] = [];
  let usage: Usage | undefined;
  for await (const part of run.parts) {
    if (part.kind === "choice") parts.push(part.choice);
    else if (part.kind === "usage") usage = part.usage;
  }
  if (usage === undefined) throw new Error("usage is the last part");
  return { parts, usage };
}

const text = ({ parts }: Answer, index = 0) =>
  parts
    .filter((part) => part.index === index)
    .map((part) => part.text)
    .join("");

const abc = [..."abc"].map((letter) => letter.charCodeAt(0));

describe("finish (contract 6, 8)", () => {
  test("length stands on the part of the last token", async () => {
    const { parts } = await answer(engineFor(2, abc), { prompt: "xy", max_tokens: 2 });
    expect(parts.map((part) => [part.text, part.finish_reason])).toEqual([
      ["a", null],
      ["b", "length"],
    ]);
  });

  test("the end token gives an empty last part with reason stop", async () => {
    const { parts } = await answer(engineFor(2, abc), { prompt: "xy", max_tokens: 9, logprobs: 1 });
    expect(parts.at(-1)).toEqual({
      text: "",
      index: 0,
      logprobs: { tokens: [], token_logprobs: [], top_logprobs: [], text_offset: [] },
      finish_reason: "stop",
    });
  });

  test("a stop match at the last allowed token is stop, and its tokens do not count", async () => {
    const body = { prompt: "xy", max_tokens: 3, stop: "c" };
    const result = await answer(engineFor(2, abc), body);
    expect(text(result)).toBe("ab");
    expect(result.parts.map((part) => part.finish_reason)).toEqual([null, null, "stop"]);
    expect(result.usage.completion_tokens).toBe(2);
  });

  test("max_tokens 0 gives an empty text, reason length and the prompt's usage", async () => {
    const { parts, usage } = await answer(engineFor(2, abc), { prompt: "xy", max_tokens: 0 });
    expect(parts).toEqual([{ text: "", index: 0, logprobs: null, finish_reason: "length" }]);
    expect(usage).toMatchObject({ prompt_tokens: 2, completion_tokens: 0, total_tokens: 2 });
  });
});

describe("echo (contract 0.5, 7, 9)", () => {
  test("the prompt's part comes first, with a null first entry and offsets from the start", async () => {
    const body = { prompt: "xy", max_tokens: 1, echo: true, logprobs: 0 };
    const { parts } = await answer(engineFor(2, abc), body);
    expect(parts.map((part) => part.text)).toEqual(["xy", "a"]);
    const [prompt, last] = parts.map((part) => part.logprobs);
    expect(prompt?.tokens).toEqual(["x", "y"]);
    expect(prompt?.text_offset).toEqual([0, 1]);
    expect(prompt?.token_logprobs[0]).toBeNull();
    expect(prompt?.top_logprobs[0]).toBeNull();
    expect(prompt?.top_logprobs[1]).toEqual([["y", prompt?.token_logprobs[1]]]);
    expect(last?.text_offset).toEqual([2]);
  });

  test("with max_tokens 0 the prompt's part is the last one", async () => {
    const body = { prompt: "xy", max_tokens: 0, echo: true, logprobs: 1 };
    const { parts, usage } = await answer(engineFor(2, abc), body);
    expect(parts.map((part) => [part.text, part.finish_reason])).toEqual([["xy", "length"]]);
    expect(usage.completion_tokens).toBe(0);
  });

  test("an end token has an entry at the end of the text, so there is one per position", async () => {
    const body = { prompt: "xy", max_tokens: 1, echo: true, logprobs: 1 };
    const { parts } = await answer(engineFor(2, []), body);
    const entries = parts.flatMap((part) => part.logprobs?.tokens ?? []);
    expect(entries).toEqual(["x", "y", "</s>"]);
    expect(parts.at(-1)).toMatchObject({ text: "", finish_reason: "stop" });
    expect(parts.at(-1)?.logprobs?.text_offset).toEqual([2]);
  });

  test("without echo the end token has none", async () => {
    const { parts } = await answer(engineFor(2, []), { prompt: "xy", logprobs: 1 });
    expect(parts.flatMap((part) => part.logprobs?.tokens ?? [])).toEqual([]);
  });

  test("an echoed prompt never stops the text", async () => {
    const result = await answer(engineFor(2, abc), { prompt: "xy", echo: true, stop: "y" });
    expect(text(result)).toBe("xyabc");
  });

  test("half characters of a token array are bytes, both at the character's offset", async () => {
    const tokens = [0x41, 0xc3, 0xa9, 0x42]; // A é B
    const body = { prompt: tokens, max_tokens: 0, echo: true, logprobs: 0 };
    const { parts } = await answer(engineFor(4, []), body);
    expect(parts[0]?.text).toBe("AéB");
    expect(parts[0]?.logprobs?.tokens).toEqual(["A", "bytes:\\xc3", "bytes:\\xa9", "B"]);
    expect(parts[0]?.logprobs?.text_offset).toEqual([0, 1, 1, 2]);
  });

  test("an added BOS is entry 0, without a place in the text", async () => {
    const withBos = testVocabulary({ addsBos: true });
    const logits = scriptedLogits(withBos, 3, abc);
    const engine = new FakeEngine({ vocabulary: withBos, logits });
    const body = { prompt: "xy", max_tokens: 1, echo: true, logprobs: 0 };
    const { parts, usage } = await answer(engine, body);
    expect(parts[0]?.text).toBe("xy");
    expect(parts[0]?.logprobs?.tokens).toEqual(["<s>", "x", "y"]);
    expect(parts[0]?.logprobs?.text_offset).toEqual([0, 0, 1]);
    expect(usage.prompt_tokens).toBe(3);
  });
});

describe("text_offset without echo (contract 7)", () => {
  test("counts code points from the start of the prompt", async () => {
    const prompt = "a😀é";
    const promptTokens = vocabulary.encode(prompt).length;
    const body = { prompt, max_tokens: 2, logprobs: 0 };
    const { parts } = await answer(engineFor(promptTokens, abc), body);
    expect(parts.flatMap((part) => part.logprobs?.text_offset ?? [])).toEqual([3, 4]);
  });
});

describe("choices (contract 3, 11)", () => {
  test("choice j of prompt i has index i * n + j", async () => {
    const { parts } = await answer(engineFor(1, abc), { prompt: ["x", "y"], n: 2, max_tokens: 1 });
    const indexes = parts.map((part) => part.index).toSorted((left, right) => left - right);
    expect(indexes).toEqual([0, 1, 2, 3]);
  });

  test("usage counts each prompt once and the tokens of all choices", async () => {
    const { usage } = await answer(engineFor(1, abc), { prompt: ["x", "y"], n: 2, max_tokens: 3 });
    expect(usage).toMatchObject({ prompt_tokens: 2, completion_tokens: 12, total_tokens: 14 });
  });

  test("best_of returns the candidates of highest mean logprob, best first", async () => {
    // Without a script every token is drawn from the same flat distribution.
    const flat = () => Float32Array.from({ length: vocabulary.size }, (_, token) => -token / 50);
    const engine = new FakeEngine({ vocabulary, logits: flat });
    const body = { prompt: "x", temperature: 1, seed: 3, max_tokens: 4, logprobs: 0 };
    const all = await answer(engine, { ...body, n: 10 });
    const means = new Map<number, number>();
    for (let index = 0; index < 10; index++) {
      const own = all.parts.filter((part) => part.index === index);
      const values = own.flatMap((part) => part.logprobs?.token_logprobs ?? []);
      means.set(index, values.reduce((sum: number, value) => sum + (value ?? 0), 0) / 4);
    }
    const ranked = [...means].toSorted((left, right) => right[1] - left[1]).map(([index]) => index);
    const best = await answer(engine, { ...body, n: 3, best_of: 10 });
    const texts = [0, 1, 2].map((index) => text(best, index));
    expect(texts).toEqual(ranked.slice(0, 3).map((index) => text(all, index)));
    expect(best.usage.completion_tokens).toBe(all.usage.completion_tokens);
  });
});

describe("the document start (contract 3)", () => {
  test.each([null, "", "<|endoftext|>"])("prompt %j is one token", async (prompt) => {
    const engine = engineFor(1, abc);
    const { usage } = await answer(engine, { prompt });
    expect(usage.prompt_tokens).toBe(1);
    expect(engine.jobs[0]?.prompt).toEqual([vocabulary.documentStart]);
  });

  test("echo gives back what the client wrote", async () => {
    const body = { max_tokens: 1, echo: true };
    const empty = await answer(engineFor(1, abc), { ...body, prompt: "" });
    expect(text(empty)).toBe("a");
    const written = await answer(engineFor(1, abc), { ...body, prompt: "<|endoftext|>" });
    expect(text(written)).toBe("<|endoftext|>a");
  });
});

describe("what does not fit the model", () => {
  test("prompt and completion beyond the context", async () => {
    const started = answer(engineFor(1, abc), { prompt: "x".repeat(250), max_tokens: 7 });
    await expect(started).rejects.toMatchObject({
      status: 400,
      code: "context_length_exceeded",
      message:
        "This model's maximum context length is 256 tokens, however you requested 257 tokens " +
        "(250 in your prompt; 7 for the completion). Please reduce your prompt; or completion " +
        "length.",
    });
  });

  test("a token beyond the vocabulary, on either side", async () => {
    const max = vocabulary.size - 1;
    for (const [token, digits] of [
      [max + 1, `${max + 1}`],
      [-1, "-1"],
      [1e21, "1000000000000000000000"],
    ] as const) {
      await expect(answer(engineFor(1, abc), { prompt: [0, token] })).rejects.toMatchObject({
        message:
          `Invalid token in prompt: ${digits}. Minimum value is 0, maximum value is ${max} ` +
          "(inclusive).",
      });
    }
  });

  test("a length of which the digits would not fit a double is still written in digits", async () => {
    await expect(
      answer(engineFor(1, abc), { prompt: "x", max_tokens: 1e21 }),
    ).rejects.toMatchObject({
      message: expect.stringContaining(
        "requested 1000000000000000000001 tokens (1 in your prompt; 1000000000000000000000 for",
      ),
    });
  });

  test("a bias beyond the vocabulary, but not on the end tokens of the GPT vocabularies", async () => {
    const body = { prompt: "x", max_tokens: 3 };
    const beyond = answer(engineFor(1, abc), { ...body, logit_bias: { "40000": 1 } });
    await expect(beyond).rejects.toMatchObject({ status: 400, param: "logit_bias" });
    const banned = await answer(engineFor(1, []), { ...body, logit_bias: { "50256": -100 } });
    expect(banned.usage.completion_tokens).toBe(3);
  });
});

test("when one prompt fails the others are abandoned", async () => {
  const logits = scriptedLogits(vocabulary, 1, abc);
  const error = new Error("engine broke");
  const engine = new FakeEngine({ vocabulary, logits, failAfterEvents: { events: 3, error } });
  await expect(answer(engine, { prompt: ["x", "y", "z"] })).rejects.toThrow("engine broke");
  await new Promise((resolve) => setImmediate(resolve));
  expect(engine.abandoned).toBe(3);
});

describe("what a run may use at most, and what it used", () => {
  const start = (body: Record<string, unknown>) => {
    const model = { engine: engineFor(2, abc), insertion: { kind: "auto" as const } };
    return startCompletion(requestOf(body), model, new AbortController().signal);
  };

  test.each([
    [{ prompt: "xy", max_tokens: 5 }, 2, 5, 1],
    [{ prompt: "xy", max_tokens: 5, n: 3 }, 2, 15, 3],
    [{ prompt: "xy", max_tokens: 5, n: 2, best_of: 4 }, 2, 20, 4],
    [{ prompt: ["xy", "z"], max_tokens: 5, n: 2 }, 3, 20, 4],
    [{ prompt: "xy", max_tokens: 0, echo: true }, 2, 0, 1],
    // Without infill tokens an insertion draws four candidates for each choice; greedy ones are equal.
    [{ prompt: "xy", suffix: "z", max_tokens: 5, temperature: 1 }, 2, 20, 4],
    [{ prompt: "xy", suffix: "z", max_tokens: 5, temperature: 0 }, 2, 5, 1],
  ])("%j", async (body, promptTokens, completionTokensMax, candidates) => {
    expect(await start(body)).toMatchObject({ promptTokens, completionTokensMax, candidates });
  });

  test("nothing is used before the prompt leaves the queue; then the prompt, then each token", async () => {
    const run = await start({ prompt: "xy", max_tokens: 2, temperature: 0 });
    const used: number[][] = [];
    const note = () => {
      const { prompt_tokens, completion_tokens } = run.used();
      used.push([prompt_tokens, completion_tokens]);
    };
    note();
    for await (const _ of run.parts) note();
    expect(used.slice(0, 3)).toEqual([
      [0, 0],
      [2, 0],
      [2, 1],
    ]);
    expect(used.at(-1)).toEqual([2, 2]);
  });

  test("candidates that are left out of a best_of count as they come", async () => {
    const run = await start({ prompt: "xy", max_tokens: 2, best_of: 3, temperature: 0 });
    for await (const part of run.parts) if (part.kind === "choice") break;
    expect(run.used().completion_tokens).toBe(6);
  });
});
