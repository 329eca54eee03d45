/** Opening and closing a model in a program, and an engine that dies meanwhile. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import {
  ClientClosedError,
  ConfigurationError,
  type CreateParameters,
  ModelFileError,
  open,
} from "../../src/index.ts";
import { tinyGgufFile } from "../../src/llama/testing/tiny-gguf.ts";
import { textsOf } from "./support.ts";

const model = tinyGgufFile({ contextLength: 2048 });
const openTiny = () => open({ model, threads: 1, slots: 4 });
const endless = { prompt: "a", max_tokens: 1900, ignore_eos: true } as const;

describe("closing", () => {
  test("ends running calls, and every later call says so", async () => {
    const own = await openTiny();
    const running = own.create(endless);
    await textsOf(own.stream({ max_tokens: 1 }));
    await Promise.all([expect(running).rejects.toBeInstanceOf(ClientClosedError), own.close()]);
    await expect(own.create({})).rejects.toBeInstanceOf(ClientClosedError);
    await expect(textsOf(own.stream({}))).rejects.toBeInstanceOf(ClientClosedError);
    await expect(own.tokenize("a")).rejects.toBeInstanceOf(ClientClosedError);
    await own.close();
  });

  test("happens at the end of the scope that opened it", async () => {
    let pid: number | undefined;
    {
      await using own = await openTiny();
      pid = own.health().pid;
      expect(pid).toBeGreaterThan(0);
    }
    expect(() => process.kill(pid as number, 0)).toThrow("ESRCH");
  });
});

test("an engine that is killed fails its calls and is there again for the next", async () => {
  await using own = await openTiny();
  const running = own.create(endless);
  // Of a text, as the other: calls without one need no tokenizer and may overtake.
  await textsOf(own.stream({ prompt: "b", max_tokens: 1 }));
  process.kill(own.health().pid as number, "SIGKILL");
  await expect(running).rejects.toMatchObject({ status: 500, type: "server_error" });
  expect(await own.create({ max_tokens: 1 })).toMatchObject({ object: "text_completion" });
  expect(own.health()).toMatchObject({ state: "ready", restarts: 1 });
});

describe("opening", () => {
  test("takes the options of the server by their names and refuses others' values", async () => {
    await using own = await open({ model, threads: 1, slots: 1, context: 64, limits: "extended" });
    expect(own.contextLength).toBe(64);
    const { choices } = await own.create({ logprobs: 20, max_tokens: 1 });
    expect(choices[0]?.logprobs?.tokens).toHaveLength(1);
    await expect(open({ slots: 0 })).rejects.toBeInstanceOf(ConfigurationError);
    await expect(open({ numerics: "loose" as never })).rejects.toThrow(
      'numerics: expected one of fast, reproducible, exact, got "loose"',
    );
  });

  test("ignores unknown fields of requests where it is told to", async () => {
    await using own = await open({ model, threads: 1, slots: 1, strict: false });
    const request = { max_tokens: 1, chat_template: "x" } as CreateParameters;
    expect(await own.create(request)).toMatchObject({ object: "text_completion" });
  });

  test("a file that is no model names it", async () => {
    const opening = open({ model: import.meta.filename });
    await expect(opening).rejects.toBeInstanceOf(ModelFileError);
    await expect(opening).rejects.toThrow(import.meta.filename);
  });

  test("gives up when it is aborted", async () => {
    await expect(open({ model, signal: AbortSignal.abort() })).rejects.toThrow(/abort/i);
  });
});

test("the guide names every option of open()", () => {
  const source = readFileSync(new URL("../../src/library/open.ts", import.meta.url), "utf8");
  const body = /interface OpenOptions \{([\s\S]*?)\n\}/.exec(source)?.[1] ?? "";
  const names = [...body.matchAll(/^ {2}readonly (\w+)\?/gm)].map((match) => match[1]);
  const guide = readFileSync(new URL("../../docs/guides/library.md", import.meta.url), "utf8");
  expect(names).toHaveLength(13);
  for (const name of names) expect(guide).toContain(`| \`${name}\` |`);
});
