/** The package as its users get it: packed, installed into an empty folder, and used from there. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connect } from "../../src/index.ts";
import { tinyGgufFile } from "../../src/llama/testing/tiny-gguf.ts";
import { engineProcessOf } from "./support/engine-process.ts";
import { type Consumer, installPackage, oldNode, root } from "./support/install.ts";

const model = tinyGgufFile();
let consumer: Consumer;

beforeAll(async () => {
  consumer = await installPackage();
}, 240_000);

afterAll(() => consumer?.remove());

interface Manifest {
  readonly version: string;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly optionalDependencies: Readonly<Record<string, string>>;
}

const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Manifest;

describe("the tarball", () => {
  test("holds the built program, the launcher and pages about it, and nothing else", () => {
    const others = consumer.files.filter((path) => !/^dist\/.+\.(js|d\.ts)$/.test(path));
    expect(others.toSorted()).toEqual([
      "CHANGELOG.md",
      "LICENSE",
      "README.md",
      "README.zh-CN.md",
      "bin/completionist.cjs",
      "package.json",
    ]);
  });

  test("holds no tests and nothing that only tests use", () => {
    const paths = consumer.files.filter((path) => /\.test\.|\/testing\/|(^|\/)test/.test(path));
    expect(paths).toEqual([]);
  });

  test("is smaller than a megabyte", () => {
    expect(consumer.packedBytes).toBeLessThan(1_000_000);
  });

  test("says what it needs and where its parts are", () => {
    const installed = JSON.parse(
      readFileSync(join(consumer.packageFolder, "package.json"), "utf8"),
    );
    expect(installed).toMatchObject({
      engines: { node: ">=24" },
      bin: { completionist: "bin/completionist.cjs" },
      types: "./dist/index.d.ts",
      exports: { ".": { types: "./dist/index.d.ts", default: "./dist/index.js" } },
      dependencies: manifest.dependencies,
      optionalDependencies: manifest.optionalDependencies,
    });
    const platforms = Object.keys(installed.optionalDependencies);
    expect(platforms.every((name) => name.startsWith("@node-llama-cpp/"))).toBe(true);
    expect(consumer.files).toEqual(expect.arrayContaining(["dist/index.js", "dist/index.d.ts"]));
  });
});

describe("the command", () => {
  test("says its version", async () => {
    const { code, output } = await consumer.run("npx", ["completionist", "--version"]);
    expect([code, output.trim()]).toEqual([0, manifest.version]);
  });

  test("serves a model, and goes on when the engine is killed", async () => {
    const server = await consumer.serve(["--model", model, "--threads", "1"]);
    // A request that meets the death of the engine gets a 500, which clients send again.
    await using client = connect({ baseUrl: `${server.url}/v1` });
    const request = { prompt: "Hello", max_tokens: 3, logprobs: 1, seed: 1 };
    const complete = async () => (await client.create(request)).choices;
    try {
      const first = await complete();
      expect(first).toMatchObject([{ text: expect.any(String), index: 0 }]);
      if (process.platform !== "linux") return;
      process.kill(engineProcessOf(server.pid), "SIGKILL");
      expect(await complete()).toEqual(first);
    } finally {
      await server.stop();
    }
  });

  test.skipIf(oldNode() === undefined)("gives one clear line on an old Node", async () => {
    const launcher = join(consumer.packageFolder, "bin", "completionist.cjs");
    const { code, output, errors } = await consumer.run(oldNode() as string, [launcher, "serve"]);
    expect([code, output]).toEqual([1, ""]);
    expect(errors).toMatch(/^completionist needs Node\.js 24 or newer, this is v[\d.]+;[^\n]*\n$/);
  });
});

describe("the library", () => {
  test("works from JavaScript", async () => {
    consumer.write(
      "app.js",
      `import { ApiError, open } from "completionist";
       await using client = await open({ model: ${JSON.stringify(model)}, threads: 1 });
       const { choices } = await client.create({ prompt: "Hello", max_tokens: 2 });
       const error = await client.create({ n: 0 }).catch((thrown) => thrown);
       const { tokens } = await client.score("Hello there");
       console.log(choices.length, error instanceof ApiError, error.code, tokens[0].logprob);`,
    );
    const { code, output, errors } = await consumer.run("node", ["app.js"]);
    expect([code, errors, output]).toEqual([0, "", "1 true integer_below_min_value null\n"]);
  });

  test("works from CommonJS", async () => {
    consumer.write(
      "app.cjs",
      `const { connect, open } = require("completionist");
       console.log(typeof open, typeof connect);`,
    );
    const { output } = await consumer.run("node", ["app.cjs"]);
    expect(output).toBe("function function\n");
  });

  const typed = `
    import { ApiError, type CreateCompletionRequest, open, type Prompt } from "completionist";
    const prompt: Prompt = ["Hello", "there"];
    const request: CreateCompletionRequest = { prompt, max_tokens: 2, logprobs: 1 };
    await using client = await open({ model: ${JSON.stringify(model)}, threads: 1 });
    const { choices } = await client.create({ ...request, stream: false });
    const first: number | null | undefined = choices[0]?.logprobs?.token_logprobs[0];
    let chunks = 0;
    for await (const chunk of client.stream({ prompt: "a", max_tokens: 2 })) {
      const reason: "stop" | "length" | "content_filter" | null | undefined =
        chunk.choices[0]?.finish_reason;
      chunks += reason === undefined ? 0 : 1;
    }
    // @ts-expect-error: there is no such field
    const error: unknown = await client.create({ max_token: 1 }).catch((thrown: unknown) => thrown);
    const message: string = error instanceof ApiError ? error.message : "";
    console.log(choices.length, typeof first, chunks > 0, message);
  `;

  test("works from TypeScript, checked strictly, declarations too", async () => {
    consumer.write("app.ts", typed);
    for (const libraries of [[], ["--types", "node", "--lib", "es2024"]]) {
      const { code, output } = await consumer.typeCheck("app.ts", libraries);
      expect([code, output]).toEqual([0, ""]);
    }
    const { code, output, errors } = await consumer.run("node", ["app.ts"]);
    expect([code, errors, output]).toEqual([
      0,
      "",
      "2 number true Unrecognized request argument supplied: max_token\n",
    ]);
  });

  test("the guide's TypeScript is right", async () => {
    const guide = readFileSync(join(root, "docs", "guides", "library.md"), "utf8");
    const blocks = [...guide.matchAll(/^```ts\n([\s\S]*?)^```$/gm)];
    expect(blocks).toHaveLength(1);
    for (const [index, block] of blocks.entries()) {
      consumer.write(`guide-${index}.ts`, block[1] ?? "");
      expect((await consumer.typeCheck(`guide-${index}.ts`, [])).output).toBe("");
      const { output } = await consumer.run("node", [`guide-${index}.ts`]);
      expect(output).toBe("400 temperature decimal_above_max_value\n");
    }
  });
});
