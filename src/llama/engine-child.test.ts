import { fork } from "node:child_process";
import { expect, test } from "vitest";
import { EngineChild } from "./engine-child.ts";

const silent = () => undefined;
const log = { debug: silent, info: silent, warn: silent, error: silent };
const load = {
  modelPath: "/no/model.gguf",
  contextLength: undefined,
  slots: 1,
  threads: 1,
  numerics: "reproducible",
  kvType: "f16",
  prefixCacheBytesMax: 0,
} as const;
const limits = { silenceMs: 1_000, loadingMs: 10_000 };

test.each([
  [
    "throws",
    () => {
      throw new Error("spawn ENOMEM");
    },
    /could not start the engine process: spawn ENOMEM/,
  ],
  [
    "says so later",
    () => fork("nothing.js", [], { execPath: "/no/such/program", stdio: "pipe", silent: true }),
    /could not start the engine process: spawn \/no\/such\/program ENOENT/,
  ],
])("a process that cannot be started ends as such when the system %s", async (_, start, reason) => {
  const child = new EngineChild({ load, limits, log, startProcess: start });
  await expect(child.loaded()).rejects.toThrow(reason);
  expect(await child.ended).toMatchObject({
    kind: "start",
    sentence: expect.stringMatching(reason),
  });
  expect(child.alive).toBe(false);
  const options = { addSpecial: false, parseSpecial: false };
  await expect(child.tokenize("a", options)).rejects.toMatchObject({ status: 500 });
  child.stop();
});
