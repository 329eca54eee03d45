/** The model's file changes under a server that runs. */
import {
  copyFileSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type OpenedModelClient, open } from "../../src/index.ts";
import { tinyGgufFile } from "../../src/llama/testing/tiny-gguf.ts";

const source = tinyGgufFile();
const folder = mkdtempSync(join(tmpdir(), "completionist-model-"));
const model = join(folder, "model.gguf");
const request = { prompt: "The river", max_tokens: 8, seed: 1, ignore_eos: true } as const;
/** Failing takes five starts and the pauses between them; a changed file is seen within seconds. */
const patience = { timeout: 60_000, interval: 100 };
let own: OpenedModelClient;

beforeAll(async () => {
  copyFileSync(source, model);
  own = await open({ model, threads: 1, slots: 2 });
});

afterAll(async () => {
  await own?.close();
  rmSync(folder, { recursive: true });
});

/** As careful people replace a file: nobody ever sees half of it. */
function replaceModel(bytes: Uint8Array): void {
  writeFileSync(`${model}.new`, bytes);
  renameSync(`${model}.new`, model);
}

async function untilReason(pattern: RegExp): Promise<void> {
  await expect.poll(() => own.health().reason, patience).toMatch(pattern);
  expect(own.health().state).toBe("failed");
  await expect(own.create(request)).rejects.toMatchObject({
    status: 503,
    code: "model_unavailable",
    message: expect.stringMatching(pattern),
  });
}

test("fails with the reason, keeps to its model, and comes back with it", async () => {
  const text = async () => (await own.create(request)).choices[0]?.text;
  const before = await text();
  const original = readFileSync(model);

  // The running engine holds the old file.
  replaceModel(Buffer.from("no model at all"));
  expect(await text()).toBe(before);
  process.kill(own.health().pid as number, "SIGKILL");
  await expect(own.create(request)).rejects.toMatchObject({ code: "model_unavailable" });
  await untilReason(/model\.gguf/);

  rmSync(model);
  await untilReason(/no model file at .*model\.gguf|model\.gguf.* does not exist/i);

  replaceModel(readFileSync(tinyGgufFile({ seed: 2 })));
  await untilReason(/no longer the one that was served/);

  replaceModel(original.subarray(0, original.length / 2));
  await untilReason(/model\.gguf/);

  replaceModel(original);
  await expect.poll(() => own.health().state, patience).toBe("ready");
  expect(await text()).toBe(before);
  expect(own.health().reason).toBeUndefined();
});

test("a file cut short in place never gives a wrong text", async () => {
  const before = (await own.create(request)).choices[0]?.text;
  truncateSync(model, readFileSync(model).length / 2);
  const answer = await own.create({ ...request, prompt: "The river" }).catch((error) => error);
  if (answer instanceof Error) expect(answer).toMatchObject({ status: expect.any(Number) });
  else expect(answer.choices[0]?.text).toBe(before);
});
