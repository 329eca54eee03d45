import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { tinyGgufFile } from "../llama/testing/tiny-gguf.ts";
import { EngineStartError } from "./engine-start-error.ts";
import { type OpenModelSettings, openModel } from "./open-model.ts";

const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

const settings: OpenModelSettings = {
  model: tinyGgufFile(),
  context: undefined,
  cache: "unused",
  slots: 2,
  threads: 1,
  numerics: "reproducible",
  kvType: "f16",
};

const never = new AbortController().signal;

test("opens a file under its own name", async () => {
  const { file, engine } = await openModel(settings, { log, signal: never });
  onTestFinished(() => engine.close());
  expect(file.id).toMatch(/^tiny-plain-[0-9a-f]+$/);
  expect(engine.describe()).toMatchObject({ artifact: file.artifact, contextLength: 512 });
});

test("a file that is no model is told by its path", async () => {
  const folder = mkdtempSync(join(tmpdir(), "open-model-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const model = join(folder, "text.gguf");
  writeFileSync(model, "text");
  await expect(openModel({ ...settings, model }, { log, signal: never })).rejects.toThrow(model);
});

test("an engine that cannot start says why in a class of its own", async () => {
  const endless = { ...settings, slots: 1_000_000, context: 16_777_216 };
  const opening = openModel(endless, { log, signal: never });
  await expect(opening).rejects.toBeInstanceOf(EngineStartError);
});

test("an abort rejects with its reason, before and while the engine starts", async () => {
  const reason = new Error("not any more");
  const before = openModel(settings, { log, signal: AbortSignal.abort(reason) });
  await expect(before).rejects.toBe(reason);
  const controller = new AbortController();
  const during = openModel(settings, { log, signal: controller.signal });
  queueMicrotask(() => controller.abort(reason));
  await expect(during).rejects.toBe(reason);
});
