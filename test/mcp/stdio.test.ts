/** The command as a process: what it writes where, and how it ends. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  command,
  complete,
  completionTool,
  endless,
  engineOptions,
  errorOf,
  startHost,
  tinyModel,
} from "./support/agent-host.ts";

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "completionist-mcp-"));
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface RawHost {
  readonly process: ChildProcess;
  send(message: object | string): void;
  /** Lines of standard output as they come. */
  nextLine(): Promise<string>;
  readonly exit: Promise<number | null>;
  readonly errors: () => string;
}

function start(options: readonly string[], environment: object = {}): RawHost {
  const child = spawn(process.execPath, [command, "mcp", ...options], {
    stdio: "pipe",
    env: { ...process.env, ...environment },
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  let errors = "";
  child.stderr.on("data", (data: Buffer) => {
    errors += data.toString();
  });
  return {
    process: child,
    send: (message) => {
      const text = typeof message === "string" ? message : JSON.stringify(message);
      child.stdin.write(`${text}\n`);
    },
    nextLine: async () => String((await lines.next()).value),
    exit: once(child, "exit").then(([code]) => code as number | null),
    errors: () => errors,
  };
}

const initialize = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: {
    protocolVersion: "2025-06-18",
    capabilities: {},
    clientInfo: { name: "raw", version: "1" },
  },
};

const callOf = (id: number, body: object, meta: object = {}) => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name: completionTool, arguments: { body }, ...meta },
});

describe("standard output", () => {
  test("carries one message of the protocol a line, whatever is logged and whatever comes", async () => {
    const host = start([...engineOptions(), "--log-level", "trace"], {
      COMPLETIONIST_NO_SUCH_SETTING: "1",
    });
    host.send(initialize);
    expect(JSON.parse(await host.nextLine())).toMatchObject({
      id: 1,
      result: { serverInfo: { name: "completionist" }, capabilities: { tools: {} } },
    });
    host.send("this is no JSON");
    host.send({ jsonrpc: "2.0", id: 2, method: "no/such/method" });
    expect(JSON.parse(await host.nextLine())).toMatchObject({ id: 2, error: { code: -32601 } });
    host.send(callOf(3, { model: "example", prompt: "line\nline" }));
    expect(JSON.parse(await host.nextLine())).toMatchObject({ jsonrpc: "2.0", id: 3 });
    host.process.stdin?.end();
    expect(await host.exit).toBe(0);
    expect(host.errors()).toContain("COMPLETIONIST_NO_SUCH_SETTING");
  });

  test("stays clean while the default model is fetched; a fetch that fails is told to callers", async () => {
    const refusing = createServer((_, response) => response.writeHead(500).end());
    await once(refusing.listen(0, "127.0.0.1"), "listening");
    const { port } = refusing.address() as AddressInfo;
    const host = start(["--cache", join(folder, "cache")], {
      HF_ENDPOINT: `http://127.0.0.1:${port}`,
      // No Python: the second source of the model cannot work either.
      PATH: folder,
    });
    try {
      host.send(initialize);
      expect(JSON.parse(await host.nextLine())).toMatchObject({ id: 1 });
      host.send(callOf(2, { model: "example", prompt: "Hi" }));
      const { result } = JSON.parse(await host.nextLine());
      expect(errorOf(result)).toMatchObject({ type: "server_error", code: "model_unavailable" });
      host.process.stdin?.end();
      expect(await host.exit).toBe(0);
      expect(host.errors()).toContain("model");
    } finally {
      refusing.close();
    }
  });
});

describe("the end", () => {
  test.each(["closes standard input", "dies", "sends SIGTERM"])(
    "comes when the host %s in the middle of a call, and takes the engine along",
    async (how) => {
      const host = start(engineOptions());
      host.send(initialize);
      await host.nextLine();
      host.send(callOf(2, endless, { _meta: { progressToken: "p" } }));
      expect(JSON.parse(await host.nextLine())).toMatchObject({
        method: "notifications/progress",
        params: { progressToken: "p", progress: 0 },
      });
      const { pid } = host.process;
      const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ");
      if (how === "sends SIGTERM") host.process.kill("SIGTERM");
      else host.process.stdin?.end();
      if (how === "dies") host.process.stdout?.destroy();
      expect(await host.exit).toBe(0);
      expect(children.length).toBeGreaterThan(0);
      for (const child of children) await gone(child);
    },
  );
});

/** Resolves when a process is no more, or a mere entry that nobody has asked for. */
async function gone(pid: string): Promise<void> {
  for (;;) {
    try {
      if (/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"))) return;
    } catch {
      return;
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe("mistakes", () => {
  test.each([
    [["--tool-name", "two words"], 2, "--tool-name: expected"],
    [["--tool-name", "score"], 2, "--tool-name: expected"],
    [["--base-url", "localhost"], 2, "--base-url: expected"],
    [["--http", "--host", "0.0.0.0"], 2, "without an API key"],
    [["--model", "/no/such.gguf"], 1, "/no/such.gguf"],
    [["--slots", "none"], 2, "--slots: expected"],
    [["serve"], 2, 'takes no "serve"'],
  ])("%j ends the command with one line", async (options, code, text) => {
    const host = start(options);
    expect(await host.exit).toBe(code);
    expect(host.errors().trim().split("\n")).toHaveLength(1);
    expect(host.errors()).toContain(text);
  });

  test("in a model file are told to callers: the host is not left without a word", async () => {
    const model = join(folder, "strange.gguf");
    const bytes = readFileSync(tinyModel());
    // An architecture that nobody knows: the file looks sound and yet cannot be loaded.
    bytes.write("zzzzz", bytes.indexOf("llama"));
    writeFileSync(model, bytes);
    const host = await startHost(["--model", model]);
    try {
      expect(
        errorOf(await complete(host.client, { model: "example", prompt: "Hi" })),
      ).toMatchObject({
        code: "model_unavailable",
        message: expect.stringContaining("The model could not be loaded"),
      });
    } finally {
      await host.close();
    }
  });
});
