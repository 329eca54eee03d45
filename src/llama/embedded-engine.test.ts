/** What jobs get when their engine process misbehaves; the processes here have no model. */
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import type { EngineEvent, Job } from "../engine/engine.ts";
import { type EmbeddedEngine, startEmbeddedEngine } from "./embedded-engine.ts";
import { oddTokens } from "./testing/odd-engine.ts";
import { tinyGgufFile } from "./testing/tiny-gguf.ts";

const silent = () => undefined;
const never = new AbortController().signal;
const program = fileURLToPath(new URL("testing/odd-engine.ts", import.meta.url));

async function withEngine(watchdogSeconds: number, use: (engine: EmbeddedEngine) => Promise<void>) {
  const engine = await startEmbeddedEngine({
    modelPath: tinyGgufFile(),
    artifact: "odd",
    contextLength: 16,
    slots: 4,
    threads: 1,
    numerics: "reproducible",
    kvType: "f16",
    watchdogSeconds,
    log: { debug: silent, info: silent, warn: silent, error: silent },
    startProcess: () => fork(program, { serialization: "advanced", silent: true, execArgv: [] }),
  });
  try {
    await use(engine);
  } finally {
    await engine.close();
  }
}

const jobOf = (token: number) => ({ prompt: [token] }) as unknown as Job;

async function kinds(events: AsyncIterable<EngineEvent>): Promise<string[]> {
  const seen: string[] = [];
  for await (const { kind } of events) seen.push(kind);
  return seen;
}

const died = { errorName: "server", retry: { shouldRetry: true } };

test("a job that kills its process is tried twice; those beside it are told", async () => {
  await withEngine(0, async (engine) => {
    const beside = engine.run(jobOf(oddTokens.begin), never);
    expect(await beside.next()).toMatchObject({ value: { kind: "admitted" } });
    const killer = kinds(engine.run(jobOf(oddTokens.die), never));
    await expect(beside.next()).rejects.toMatchObject(died);
    await expect(killer).rejects.toMatchObject(died);
    expect(await kinds(engine.run(jobOf(oddTokens.answer), never))).toEqual(["admitted"]);
    const { state, restarts, faults, lastFault } = engine.state();
    expect({ state, restarts, crashes: faults.crash }).toEqual({
      state: "ready",
      restarts: 2,
      crashes: 2,
    });
    expect(lastFault).toContain("was ended by SIGABRT");
  });
});

test("a job that never gives the thread back is ended by the watchdog", async () => {
  await withEngine(0.8, async (engine) => {
    await expect(kinds(engine.run(jobOf(oddTokens.spin), never))).rejects.toMatchObject(died);
    expect(await kinds(engine.run(jobOf(oddTokens.answer), never))).toEqual(["admitted"]);
    const { faults, lastFault } = engine.state();
    expect(faults).toMatchObject({ hang: 2, killed: 0, crash: 0 });
    expect(lastFault).toMatch(/^The engine process gave no sign of life for [\d.]+ seconds and/);
  });
});

test("a job that takes its time on a process that answers is left alone", async () => {
  await withEngine(0.2, async (engine) => {
    const slow = engine.run(jobOf(oddTokens.begin), never);
    await slow.next();
    const caller = new AbortController();
    // Ten times the limit: real time must pass here, and more of it changes nothing.
    setTimeout(() => caller.abort(new Error("enough")), 2_000);
    await expect(kinds(engine.run(jobOf(oddTokens.begin), caller.signal))).rejects.toThrow(
      "enough",
    );
    expect(engine.state()).toMatchObject({ state: "ready", restarts: 0 });
    await slow.return(undefined);
  });
});

test("a signal ends a job that waits for a process which hangs", async () => {
  await withEngine(0, async (engine) => {
    const caller = new AbortController();
    const stuck = kinds(engine.run(jobOf(oddTokens.spin), caller.signal));
    caller.abort(new Error("out of time"));
    await expect(stuck).rejects.toThrow("out of time");
  });
});
