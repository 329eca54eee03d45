import { describe, expect, test } from "vitest";
import { limitsProfiles } from "../contract/limits.ts";
import { parseCompletionRequest } from "../contract/parse-request.ts";
import type { Choice, Usage } from "../contract/responses.ts";
import { FakeEngine } from "../engine/testing/fake-engine.ts";
import { type TestVocabulary, testVocabulary } from "../engine/testing/vocabulary.ts";
import { startCompletion } from "./complete.ts";
import type { Insertion } from "./insertion.ts";

const plain = testVocabulary();
const withMarkers = testVocabulary({
  special: ["<s>", "</s>", "<P>", "<S>", "<M>"],
  infill: { prefix: "<P>", suffix: "<S>", middle: "<M>" },
});

/** Likes one token after a context that ends with the given text; nothing else matters. */
function likes(vocabulary: TestVocabulary, rules: Record<string, string>) {
  return (context: readonly number[]) => {
    const logits = new Float32Array(vocabulary.size);
    const text = String.fromCharCode(...context.filter((token) => token < 256));
    for (const [ending, next] of Object.entries(rules)) {
      if (text.endsWith(ending)) logits[next.charCodeAt(0)] = 8;
    }
    return logits;
  };
}

async function insert(
  engine: FakeEngine,
  insertion: Insertion,
  body: Record<string, unknown>,
): Promise<{ choices: Choice[]; usage: Usage | undefined }> {
  const options = { limits: limitsProfiles.openai, strict: false };
  const request = parseCompletionRequest({ temperature: 0, ...body }, options);
  const { signal } = new AbortController();
  const run = await startCompletion(request, { engine, insertion }, signal);
  const choices: Choice[] = [];
  let usage: Usage | undefined;
  for await (const part of run.parts) {
    if (part.kind === "choice") choices.push(part.choice);
    if (part.kind === "usage") usage = part.usage;
  }
  return { choices, usage };
}

describe("models with markers (contract 10)", () => {
  const engine = () => new FakeEngine({ vocabulary: withMarkers, logits: likes(withMarkers, {}) });

  test("read prefix, suffix and middle marker, and usage counts what they read", async () => {
    const fake = engine();
    const body = { prompt: "ab", suffix: "c", max_tokens: 1 };
    const { usage } = await insert(fake, { kind: "auto" }, body);
    const ids = ["<P>", "a", "b", "<S>", "c", "<M>"].map((text) => withMarkers.id(text));
    expect(fake.jobs.map((job) => job.prompt)).toEqual([ids]);
    expect(usage?.prompt_tokens).toBe(6);
  });

  test("a token array is the prefix", async () => {
    const fake = engine();
    await insert(fake, { kind: "fim" }, { prompt: [97], suffix: "c", max_tokens: 1 });
    const ids = ["<P>", "a", "<S>", "c", "<M>"].map((text) => withMarkers.id(text));
    expect(fake.jobs[0]?.prompt).toEqual(ids);
  });

  test("an empty suffix is none", async () => {
    const fake = engine();
    await insert(fake, { kind: "fim" }, { prompt: "a", suffix: "", max_tokens: 1 });
    expect(fake.jobs[0]?.prompt).toEqual([97]);
  });

  test("echo gives the prompt and the completion, not the suffix", async () => {
    const body = { prompt: "ab", suffix: "c", max_tokens: 1, echo: true };
    const { choices } = await insert(engine(), { kind: "fim" }, body);
    expect(choices[0]?.text).toBe("ab");
  });
});

test("a template says how prompt and suffix are put together", async () => {
  const fake = new FakeEngine({ vocabulary: plain, logits: likes(plain, {}) });
  const insertion = { kind: "template", template: "[{suffix}|{prefix}]" } as const;
  await insert(fake, insertion, { prompt: "a{suffix}", suffix: "c", max_tokens: 1 });
  expect(fake.jobs[0]?.prompt).toEqual(plain.encode("[c|a{suffix}]"));
});

test.each(["off", "fim"] as const)("a model without markers refuses with %s", async (kind) => {
  const fake = new FakeEngine({ vocabulary: plain, logits: likes(plain, {}) });
  const refused = insert(fake, { kind }, { prompt: "a", suffix: "c" });
  await expect(refused).rejects.toMatchObject({
    status: 400,
    param: "suffix",
    code: "unsupported_parameter",
    message: "This model does not support the 'suffix' parameter.",
  });
});

describe("reranking (contract 10)", () => {
  test("cuts where the suffix is likeliest", async () => {
    // Goes on "x." "y." "z." ...; only after "x." is the suffix "!" likely.
    const rules = { a: "x", x: ".", "x.": "y", y: ".", "y.": "z", z: "." };
    const logits = likes(plain, rules);
    const engine = new FakeEngine({
      vocabulary: plain,
      logits: (context) => {
        const row = logits(context);
        if (String.fromCharCode(...context).endsWith("x.")) row[33] = 7.9;
        return row;
      },
    });
    const body = { prompt: "a", suffix: "!", max_tokens: 6 };
    const { choices, usage } = await insert(engine, { kind: "rerank" }, body);
    expect(choices.map((choice) => choice.text).join("")).toBe("x.");
    expect(choices.at(-1)?.finish_reason).toBe("stop");
    expect(usage?.completion_tokens).toBe(6);
  });

  test("draws four candidates for each choice and counts them all", async () => {
    const engine = new FakeEngine({ vocabulary: plain, logits: likes(plain, {}) });
    const body = { prompt: "a", suffix: "c", max_tokens: 3, n: 2, temperature: 1, seed: 1 };
    const { choices, usage } = await insert(engine, { kind: "auto" }, body);
    expect(engine.jobs[0]?.candidates).toBe(8);
    expect(usage?.completion_tokens).toBe(24);
    const finished = choices.filter((choice) => choice.finish_reason !== null);
    expect(finished.map((choice) => choice.index)).toEqual([0, 1]);
  });

  test("logprobs are those of the middle that is returned", async () => {
    const engine = new FakeEngine({ vocabulary: plain, logits: likes(plain, { a: "x", x: "y" }) });
    const body = { prompt: "a", suffix: "c", max_tokens: 2, logprobs: 0 };
    const { choices } = await insert(engine, { kind: "rerank" }, body);
    const entries = choices.flatMap((choice) => choice.logprobs?.tokens ?? []);
    expect(entries).toEqual(["x", "y"]);
    const offsets = choices.flatMap((choice) => choice.logprobs?.text_offset ?? []);
    expect(offsets).toEqual([1, 2]);
  });

  test("no more than 64 suffix tokens are scored", async () => {
    const engine = new FakeEngine({ vocabulary: plain, logits: likes(plain, {}) });
    const body = { prompt: "a", suffix: "c".repeat(100), max_tokens: 1 };
    await insert(engine, { kind: "rerank" }, body);
    expect(engine.jobs[1]?.prompt.length).toBe(1 + 1 + 64);
    expect(engine.jobs[1]?.scoreFrom).toBe(2);
  });
});
