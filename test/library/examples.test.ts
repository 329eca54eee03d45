/** What is shown to users of the library runs as it stands: on the built package, in JavaScript. */
import { spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { open } from "../../src/index.ts";
import { tinyGgufFile } from "../../src/llama/testing/tiny-gguf.ts";
import { type ServerProcess, startServer } from "../support/server-process.ts";

const root = resolve(import.meta.dirname, "..", "..");
const model = tinyGgufFile();

beforeAll(() => {
  // The test command builds first; a run of these tests alone may be the first.
  if (existsSync(join(root, "dist", "index.js"))) return;
  const build = spawnSync(process.execPath, [join(root, "scripts", "build.ts")], { cwd: root });
  expect(build.status).toBe(0);
});

interface Outcome {
  readonly code: number | null;
  readonly output: string;
  readonly errors: string;
}

/** Runs Node in the root, where the package finds itself by its name. */
async function run(words: readonly string[], input = ""): Promise<Outcome> {
  const child = spawn(process.execPath, words, { cwd: root });
  let output = "";
  let errors = "";
  child.stdout.on("data", (data) => {
    output += data;
  });
  child.stderr.on("data", (data) => {
    errors += data;
  });
  child.stdin.end(input);
  const code = await new Promise<number | null>((settle) => child.once("close", settle));
  return { code, output, errors };
}

describe("the example app", () => {
  const example = join("examples", "which-ending.js");

  /** The first two lines of its output, from the scores of the library. */
  async function firstLines(): Promise<string> {
    await using client = await open({ model, threads: 1 });
    const sentence = "The capital of France is";
    const means = await Promise.all(
      [" Paris.", " Berlin.", " a banana."].map(async (ending) => {
        const [whole, start] = await Promise.all([
          client.create({ prompt: sentence + ending, echo: true, logprobs: 0, max_tokens: 0 }),
          client.tokenize(sentence),
        ]);
        const all = (whole.choices[0]?.logprobs?.token_logprobs ?? []).slice(start.length);
        const sum = all.reduce<number>((total, logprob) => total + (logprob ?? 0), 0);
        return { ending, mean: sum / all.length };
      }),
    );
    const best = means.sort((a, b) => b.mean - a.mean)[0];
    return `${sentence}\n  ${best?.mean.toFixed(3).padStart(9)}  ${best?.ending.trim()}\n`;
  }

  test("ranks endings with a model of its own", async () => {
    const { code, output, errors } = await run([example, model]);
    expect([code, errors]).toEqual([0, ""]);
    expect(output.startsWith(await firstLines())).toBe(true);
    expect(output.trimEnd().split("\n")).toHaveLength(8);
  });

  test("and with a server", async () => {
    const server = await startServer(["--model", model, "--threads", "1"]);
    try {
      const { code, output, errors } = await run([example, `${server.url}/v1`]);
      expect([code, errors]).toEqual([0, ""]);
      expect(output.startsWith(await firstLines())).toBe(true);
    } finally {
      await server.stop();
    }
  });
});

describe("the guide's examples", () => {
  const guide = readFileSync(join(root, "docs", "guides", "library.md"), "utf8");
  const scripts = [...guide.matchAll(/^```js\n([\s\S]*?)^```$/gm)].map((match) => match[1] ?? "");
  let server: ServerProcess;
  beforeAll(async () => {
    server = await startServer(["--threads", "1"]);
  });
  afterAll(async () => {
    await server?.stop();
  });

  test("are there", () => {
    expect(scripts).toHaveLength(3);
  });

  test.each(scripts)("%#: run and print", async (script) => {
    const code = script.replaceAll("http://127.0.0.1:8080", server.url);
    const outcome = await run(["--input-type=module", "-"], code);
    expect([outcome.code, outcome.errors]).toEqual([0, ""]);
    expect(outcome.output.trim()).not.toBe("");
  });
});
