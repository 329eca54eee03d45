/**
 * Editors: Tabby, Zed, Continue, Twinny, llm-ls, minuet, vim-ai. What each sends, read by its own
 * parser's rule. Weights do not matter, so a tiny model with insertion tokens answers.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { tinyGgufFile } from "../../src/llama/testing/tiny-gguf.ts";
import { type ServerProcess, startServer } from "../support/server-process.ts";
import { chunksOf, complete, onlyChoice, post, streamText, tokenize } from "./support/requests.ts";

const model = "text-davinci-003";
const prefix = "function total(values) {\n  let sum = 0;\n  for (const value of values) ";

let server: ServerProcess;

beforeAll(async () => {
  const options = ["--limits", "extended", "--model", tinyGgufFile({ variant: "fim" })];
  server = await startServer(["--threads", "1", ...options]);
});

afterAll(async () => {
  await server?.stop();
});

describe("Tabby", () => {
  const common = { model, prompt: prefix, max_tokens: 24, temperature: 0.1, presence_penalty: 0 };

  /** Reads until the first finish reason; `[DONE]` before it would be parsed as JSON and fail. */
  function readAsTabby(text: string): string {
    let completion = "";
    for (const event of text.split("\n\n")) {
      const [choice] = (JSON.parse(event.replace(/^data: ?/, "")) as z.output<typeof chunk>)
        .choices;
      completion += choice?.text ?? "";
      if (choice?.finish_reason != null) return completion;
    }
    throw new Error("no finish reason before the end");
  }

  const chunk = z.object({
    choices: z.array(z.object({ text: z.string(), finish_reason: z.string().nullable() })),
  });

  test.each([
    ["text after the cursor", " + value;\n}"],
    ["an empty suffix at the end of a file", ""],
    ["null where the markers are in the prompt", null],
  ])("%s: an event stream whose first finish reason comes before [DONE]", async (_, suffix) => {
    const body = { ...common, suffix, seed: 9 };
    const response = await post("/v1/completions", { ...body, stream: true }, server);
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    const completion = readAsTabby(await response.text());
    expect(completion).toBe(onlyChoice(await complete(body, server.url)).text);
  });

  test("a suffix is the prompt with the model's markers around it", async () => {
    const markers = `<fim_prefix>${prefix}<fim_suffix> + value;\n}<fim_middle>`;
    const body = { ...common, temperature: 0 };
    const bySuffix = await complete({ ...body, suffix: " + value;\n}" }, server.url);
    const byMarkers = await complete({ ...body, prompt: markers, suffix: null }, server.url);
    expect(onlyChoice(bySuffix).text).toBe(onlyChoice(byMarkers).text);
    expect(bySuffix.usage?.prompt_tokens).toBe(byMarkers.usage?.prompt_tokens);
  });
});

describe("Zed", () => {
  const unsigned = z.int().min(0);
  /** Its struct: three integers of usage or nothing is read. */
  const answer = z.object({
    id: z.string(),
    object: z.string(),
    created: unsigned,
    model: z.string(),
    choices: z.array(z.object({ text: z.string(), finish_reason: z.string().nullish() })),
    usage: z.object({
      prompt_tokens: unsigned.max(2 ** 32 - 1),
      completion_tokens: unsigned.max(2 ** 32 - 1),
      total_tokens: unsigned.max(2 ** 32 - 1),
    }),
  });
  const body = { model, prompt: prefix, max_tokens: 16, temperature: 0.2, stop: [], stream: false };

  test("the struct is filled, with `stop: []`", async () => {
    const { usage } = answer.parse(await complete(body, server.url));
    expect(usage.total_tokens).toBe(usage.prompt_tokens + usage.completion_tokens);
  });

  test("nothing generated is 0 completion tokens and not an absent field", async () => {
    const [end] = await tokenize("<|endoftext|>", server.url);
    const logit_bias = { [String(end)]: 100 };
    const { choices, usage } = answer.parse(await complete({ ...body, logit_bias }, server.url));
    expect(choices[0]).toMatchObject({ text: "", finish_reason: "stop" });
    expect(usage.completion_tokens).toBe(0);
  });

  test("stop strings that overlap: the earliest match ends the text, and no part of it is sent", async () => {
    const open = { ...body, temperature: 0, max_tokens: 40, ignore_eos: true };
    const text = [...onlyChoice(await complete(open, server.url)).text];
    const markerAt = (at: number) => text.slice(at, at + 6).join("");
    // One whose end occurs nowhere before it.
    const at = text.findIndex((_, index) => {
      const end = markerAt(index).slice(2);
      return index > 8 && text.join("").indexOf(end) === text.slice(0, index + 2).join("").length;
    });
    const marker = markerAt(at);
    const stop = [marker, `${marker}\n`, marker.slice(2), `${marker}never`];
    const expected = text.slice(0, at).join("");
    const streamed = chunksOf(await streamText({ ...open, stop }, server.url));
    const pieces = streamed.flatMap(({ choices }) => choices.map((choice) => choice.text));
    expect(pieces.join("")).toBe(expected);
    expect(onlyChoice(await complete({ ...open, stop }, server.url)).text).toBe(expected);
  });
});

describe("Continue", () => {
  const stop = [
    ...["<|endoftext|>", "<fim_prefix>", "<fim_middle>", "<fim_suffix>", "<|im_start|>"],
    ...["<|im_end|>", "<file_sep>", "<repo_name>", "/src/", "#- coding: utf-8", "```", "\n\n\n"],
  ];

  /** A line that starts with `: ping` ends what was read at once. */
  function readAsContinue(reads: readonly string[]): string {
    let text = "";
    let buffer = "";
    for (const read of reads) {
      buffer += read;
      for (let end = buffer.indexOf("\n"); end >= 0; end = buffer.indexOf("\n")) {
        const line = buffer.slice(0, end);
        buffer = buffer.slice(end + 1);
        if (line.startsWith(": ping")) break;
        if (!line.startsWith("data:")) continue;
        const data = line.slice("data:".length).trim();
        if (data === "[DONE]") return text;
        text += (JSON.parse(data) as { choices: { text?: string }[] }).choices[0]?.text ?? "";
      }
    }
    throw new Error("the stream did not say that it is done");
  }

  test("autocomplete with twelve stop strings: status 200 and the whole text", async () => {
    const prompt = `<fim_prefix>${prefix}<fim_suffix>\n}<fim_middle>`;
    const body = { model, prompt, max_tokens: 32, temperature: 0.01, stop, seed: 1 };
    const response = await post("/v1/completions", { ...body, stream: true }, server);
    expect(response.status).toBe(200);
    const reads: string[] = [];
    const decoder = new TextDecoder();
    for await (const bytes of response.body ?? []) {
      reads.push(decoder.decode(bytes, { stream: true }));
    }
    const text = readAsContinue(reads);
    expect(text).toBe(onlyChoice(await complete(body, server.url)).text);
    for (const marker of stop) expect(text).not.toContain(marker);
  });

  test("its vLLM provider reads the context length from the first model", async () => {
    const response = await fetch(`${server.url}/v1/models`);
    const { data } = (await response.json()) as { data: { max_model_len: number }[] };
    expect(data[0]?.max_model_len).toBe(512);
  });
});

test("Twinny: no model; what follows each `data:` has a `choices` array", async () => {
  const body = { prompt: prefix, stream: true, temperature: 0.2, max_tokens: 12 };
  const pieces = (await streamText(body, server.url)).split("data:").slice(1);
  expect(pieces.pop()?.trim()).toBe("[DONE]");
  for (const piece of pieces) {
    const { choices } = JSON.parse(piece) as { choices: { text: string }[] };
    expect(typeof choices[0]?.text).toBe("string");
  }
});

test("llm-ls: nested parameters of another kind of server are ignored, 16 tokens at most", async () => {
  const parameters = { max_new_tokens: 60, temperature: 0.2, top_p: 0.95, do_sample: true };
  const prompt = `<fim_prefix>${prefix}<fim_suffix>\n}<fim_middle>`;
  const body = { prompt, model, stream: false, parameters, options: { use_cache: false } };
  const response = await post("/v1/completions", body, server);
  expect(response.status).toBe(200);
  expect(response.headers.get("x-ignored-params")).toBe("parameters, options");
  const { choices, usage } = (await response.json()) as Awaited<ReturnType<typeof complete>>;
  expect(typeof choices[0]?.text).toBe("string");
  expect(usage?.completion_tokens).toBeLessThanOrEqual(16);
});

test('minuet: three requests at once with `suffix: ""`, read line by line', async () => {
  const body = { model, prompt: prefix, suffix: "", stream: true };
  const texts = await Promise.all([1, 2, 3].map(() => streamText(body, server.url)));
  for (const text of texts) {
    const lines = text.split("\n").filter((line) => line.startsWith("data: {"));
    expect(lines.length).toBeGreaterThan(0);
    for (const line of lines) {
      const { choices } = JSON.parse(line.slice("data: ".length)) as { choices: object[] };
      expect(choices[0]).toHaveProperty("text");
    }
  }
});

test("vim-ai: every event is one `data: ` line ended by one byte, and has a first choice", async () => {
  const headers = { "OpenAI-Organization": "org-none" };
  const body = { stream: true, prompt: "Once", model, max_tokens: 20, temperature: 0.1 };
  const response = await post("/v1/completions", body, { url: server.url, headers });
  const lines = (await response.text()).match(/[^\n]*\n/g) ?? [];
  expect(lines.filter((line) => line !== "\n" && !line.startsWith("data: "))).toEqual([]);
  const events = lines
    .filter((line) => line.startsWith("data: "))
    .map((line) => line.slice("data: ".length, -1));
  expect(events.pop()).toBe("[DONE]");
  for (const event of events) {
    const { choices } = JSON.parse(event) as { choices: { text: string }[] };
    expect(typeof choices[0]?.text).toBe("string");
  }
});
