import { type ChildProcess, fork } from "node:child_process";
import { EventEmitter } from "node:events";
import { expect, test } from "vitest";
import { jobWith } from "../scheduler/testing/scheduler-bench.ts";
import { EngineChild } from "./engine-child.ts";
import { waitingEventsMax } from "./event-queue.ts";
import type { ToEngine } from "./messages.ts";

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

test("a job whose reader is too slow is ended in the engine too", async () => {
  const sent: ToEngine[] = [];
  const engine = Object.assign(new EventEmitter(), {
    connected: true,
    stdout: null,
    stderr: null,
    kill: () => true,
    send: (message: ToEngine) => sent.push(message),
  });
  const startProcess = () => engine as unknown as ChildProcess;
  const child = new EngineChild({ load, limits, log, startProcess });
  const events = child.run(jobWith(), new AbortController().signal);
  const first = events.next();
  const id = sent.findLast((message) => message.kind === "run")?.id ?? -1;
  const event = { id, event: { kind: "admitted" } };
  engine.emit("message", { kind: "events", events: [event] });
  expect((await first).value).toEqual({ kind: "admitted" });
  const many = Array.from({ length: waitingEventsMax + 1 }, () => event);
  engine.emit("message", { kind: "events", events: many });
  expect(sent.at(-1)).toEqual({ kind: "abort", id });
  const read = async () => {
    let count = 0;
    for (;;) {
      if ((await events.next()).done === true) return count;
      count += 1;
      if (count > waitingEventsMax) throw new Error("it held more than it may");
    }
  };
  await expect(read()).rejects.toMatchObject({ status: 503 });
  engine.emit("close", 0, null);
});
