/** Engine processes end with their server, however it or they are. Linux only. */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, onTestFinished, test } from "vitest";
import { open } from "../../src/index.ts";
import { tinyGgufFile } from "../../src/llama/testing/tiny-gguf.ts";
import { enginePid } from "../fuzz/fuzz-server.ts";
import { startFaultServer } from "./fault-server.ts";

const model = tinyGgufFile({ contextLength: 1024 });
const patience = { timeout: 20_000, interval: 20 };
const endless = { prompt: "a", max_tokens: 1000, ignore_eos: true } as const;

/** Gone, or dead and waiting for whoever inherits it. */
function isGone(pid: number): boolean {
  if (!existsSync(`/proc/${pid}/stat`)) return true;
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  return stat.slice(stat.lastIndexOf(")") + 2).startsWith("Z");
}

async function engineOf(server: ChildProcess): Promise<number> {
  const pid = server.pid as number;
  await expect.poll(() => enginePid(pid), patience).toBeGreaterThan(0);
  return enginePid(pid) as number;
}

describe("a server that is killed leaves no engine behind", () => {
  let started: ChildProcess | undefined;
  afterEach(() => {
    started?.kill("SIGKILL");
  });

  test("that generates", async () => {
    const server = await startFaultServer();
    started = server.process;
    const response = await fetch(`${server.url}/v1/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ ...endless, stream: true }),
    });
    await response.body?.getReader().read();
    const engine = await engineOf(server.process);
    server.process.kill("SIGKILL");
    await expect.poll(() => isGone(engine), patience).toBe(true);
  });

  test("that does nothing any more", async () => {
    const server = await startFaultServer();
    started = server.process;
    const engine = await engineOf(server.process);
    process.kill(engine, "SIGSTOP");
    server.process.kill("SIGKILL");
    await expect.poll(() => isGone(engine), patience).toBe(true);
  });

  test("that loads its model", async () => {
    const command = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
    const options = ["serve", "--port", "0", "--model", model, "--threads", "1"];
    const data = mkdtempSync(join(tmpdir(), "completionist-data-"));
    onTestFinished(() => rmSync(data, { recursive: true, force: true }));
    const words = [command, ...options, "--data", data];
    started = spawn(process.execPath, words, { stdio: "ignore" });
    const engine = await engineOf(started);
    started.kill("SIGKILL");
    await expect.poll(() => isGone(engine), patience).toBe(true);
  });
});

describe("an engine that does nothing any more", () => {
  test("does not keep its program from closing it", async () => {
    const own = await open({ model, threads: 1, slots: 1 });
    const pid = own.health().pid as number;
    process.kill(pid, "SIGSTOP");
    await own.close();
    expect(isGone(pid)).toBe(true);
  });

  test("does not hold a call whose caller gives up", async () => {
    await using own = await open({ model, threads: 1, slots: 1 });
    process.kill(own.health().pid as number, "SIGSTOP");
    for (const request of [endless, { max_tokens: 5 }]) {
      const caller = new AbortController();
      const call = own.create(request, { signal: caller.signal });
      setImmediate(() => caller.abort(new Error("out of time")));
      await expect(call).rejects.toThrow("out of time");
    }
  });
});
