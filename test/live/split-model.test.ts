/** A model in several files is served by any of them, and answers as the same model in one file. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { writeSplitGguf } from "../../src/llama/testing/split-gguf.ts";
import { tinyGguf, tinyGgufContent } from "../../src/llama/testing/tiny-gguf.ts";
import { type ServerProcess, startServer } from "../support/server-process.ts";

let folder = "";
let whole: ServerProcess;
let split: ServerProcess;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "completionist-split-"));
  const path = join(folder, "whole.gguf");
  writeFileSync(path, tinyGguf());
  const parts = writeSplitGguf(tinyGgufContent(), { folder, name: "parts", count: 3 });
  whole = await startServer(["--model", path, "--threads", "1"]);
  split = await startServer(["--model", parts[1] ?? "", "--threads", "1"]);
});

afterAll(async () => {
  await Promise.all([whole?.stop(), split?.stop()]);
  rmSync(folder, { recursive: true, force: true });
});

interface Completion {
  readonly model: string;
  readonly system_fingerprint: string;
  readonly choices: unknown;
}

async function complete(server: ServerProcess): Promise<Completion> {
  const response = await fetch(`${server.url}/v1/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ prompt: "Once upon", max_tokens: 12, seed: 3, logprobs: 3, echo: true }),
  });
  expect(response.status).toBe(200);
  return (await response.json()) as Completion;
}

test("with the same logprobs, under the name without the number", async () => {
  const [one, other] = [await complete(whole), await complete(split)];
  expect(other.choices).toEqual(one.choices);
  expect([one.model, other.model]).toEqual(["whole", "parts"]);
});

test("with a fingerprint of its files", async () => {
  const [one, other] = [await complete(whole), await complete(split)];
  expect(other.system_fingerprint).toMatch(/^fp_[0-9a-f]{12}$/);
  expect(other.system_fingerprint).not.toBe(one.system_fingerprint);
});
