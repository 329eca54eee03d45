import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";

/**
 * Stands for npm: writes down how it was called, then installs what the lock file asks for, with
 * this very Node as the Node of the folder.
 */
const fakeNpm = `
const fs = require("node:fs");
fs.appendFileSync("calls.jsonl", JSON.stringify({ words: process.argv.slice(2), env: process.env }) + "\\n");
setTimeout(() => {
  if (process.env.FAKE_NPM_FAILS) {
    console.error("npm error code EINTEGRITY");
    process.exit(7);
  }
  fs.rmSync("node_modules", { recursive: true, force: true });
  fs.mkdirSync("node_modules/.bin", { recursive: true });
  fs.copyFileSync("package-lock.json", "node_modules/.package-lock.json");
  const version = process.env.FAKE_NODE || process.version;
  const node = '#!/bin/sh\\n[ "$1" = --version ] && echo ' + version + ' || exec "' + process.execPath + '" "$@"\\n';
  fs.writeFileSync("node_modules/.bin/node", node, { mode: 0o755 });
}, Number(process.env.FAKE_NPM_MS || 0));
`;

/** Stands for the build: copies the sources, and fails when one says so. */
const fakeBuild = `
const fs = require("node:fs");
if (fs.readFileSync("src/main.ts", "utf8").includes("broken")) process.exit(2);
fs.rmSync("dist", { recursive: true, force: true });
fs.cpSync("src", "dist", { recursive: true });
`;

interface Call {
  readonly words: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

function project() {
  const folder = mkdtempSync(join(tmpdir(), "completionist-prepare-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const scripts = join(folder, "scripts");
  for (const name of ["prepare.cjs", "prepare"]) {
    cpSync(resolve(import.meta.dirname, name), join(scripts, name), { recursive: true });
  }
  const write = (name: string, value: unknown) =>
    writeFileSync(join(folder, name), JSON.stringify(value));
  write("package.json", { dependencies: { a: "1.0.0" } });
  const lock = (version: string) =>
    write("package-lock.json", { packages: { "": {}, "node_modules/a": { version } } });
  lock("1.0.0");
  writeFileSync(join(folder, "npm-cli.js"), fakeNpm);
  const calls = (): readonly Call[] =>
    existsSync(join(folder, "calls.jsonl"))
      ? readFileSync(join(folder, "calls.jsonl"), "utf8")
          .trim()
          .split("\n")
          .map((line) => JSON.parse(line) as Call)
      : [];
  const prepare = (environment: Record<string, string> = {}) => run(folder, environment);
  mkdirSync(join(folder, "src"));
  const source = (text: string) => writeFileSync(join(folder, "src", "main.ts"), text);
  source("first");
  writeFileSync(join(scripts, "build.ts"), fakeBuild);
  const prepareStart = () => run(folder, {}, ["start"]);
  return { folder, write, lock, calls, prepare, source, prepareStart };
}

async function run(
  folder: string,
  environment: Record<string, string>,
  words: readonly string[] = [],
) {
  const script = join(folder, "scripts", "prepare.cjs");
  const child: ChildProcess = spawn(process.execPath, [script, ...words], {
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      ...process.env,
      npm_execpath: join(folder, "npm-cli.js"),
      npm_node_execpath: process.execPath,
      ...environment,
    },
  });
  let output = "";
  let errors = "";
  child.stdout?.on("data", (data) => {
    output += data;
  });
  child.stderr?.on("data", (data) => {
    errors += data;
  });
  const [code] = await once(child, "close");
  return { code: code as number, output, errors };
}

describe.runIf(process.platform !== "win32")("dependencies", () => {
  test("are installed when there are none, said in one line, and then never again", async () => {
    const { calls, prepare } = project();
    const first = await prepare();
    expect(first).toEqual({
      code: 0,
      output: "",
      errors: "completionist: preparing dependencies (npm ci), because node_modules is missing\n",
    });
    expect(calls()[0]?.words[0]).toBe("ci");
    expect(await prepare()).toEqual({ code: 0, output: "", errors: "" });
    expect(calls()).toHaveLength(1);
  });

  test("are installed again when the lock file asks for something else", async () => {
    const { calls, lock, prepare } = project();
    await prepare();
    lock("1.0.1");
    expect((await prepare()).errors).toContain(
      "node_modules is not what package-lock.json asks for",
    );
    expect(calls()).toHaveLength(2);
  });

  test("stay when something else in package.json changes", async () => {
    const { calls, prepare, write } = project();
    await prepare();
    write("package.json", { dependencies: { a: "1.0.0" }, scripts: { test: "true" } });
    await prepare();
    expect(calls()).toHaveLength(1);
  });

  test("that somebody installed by hand are kept", async () => {
    const { calls, folder, prepare } = project();
    await prepare();
    rmSync(join(folder, "node_modules", ".completionist-installed"));
    expect(await prepare()).toEqual({ code: 0, output: "", errors: "" });
    expect(calls()).toHaveLength(1);
  });

  test("of which some are missing are installed", async () => {
    const { calls, folder, prepare } = project();
    await prepare();
    rmSync(join(folder, "node_modules", ".completionist-installed"));
    writeFileSync(join(folder, "node_modules", ".package-lock.json"), '{"packages":{}}');
    await prepare();
    expect(calls()).toHaveLength(2);
  });

  test("are installed once when two processes begin together", async () => {
    const { calls, prepare } = project();
    const slow = { FAKE_NPM_MS: "400" };
    const results = await Promise.all([prepare(slow), prepare(slow), prepare(slow)]);
    expect(results.map(({ code }) => code)).toEqual([0, 0, 0]);
    expect(calls()).toHaveLength(1);
  });

  test("that npm cannot install end in a clear line and code 1; the next try begins anew", async () => {
    const { calls, prepare } = project();
    const { code, errors } = await prepare({ FAKE_NPM_FAILS: "1" });
    expect(code).toBe(1);
    expect(errors.trimEnd().split("\n").slice(1)).toEqual([
      "npm error code EINTEGRITY",
      "completionist: npm ci failed (exit code 7); its own message is above. Start again when " +
        "the cause is gone.",
    ]);
    expect((await prepare()).code).toBe(0);
    expect(calls()).toHaveLength(2);
  });

  test("without a new enough Node are a failure", async () => {
    const { prepare } = project();
    const { code, errors } = await prepare({ FAKE_NODE: "v18.19.0" });
    expect(code).toBe(1);
    expect(errors).toContain("it brought Node v18.19.0, but 24 or newer is needed");
  });
});

test.runIf(process.platform !== "win32")(
  "npm keeps its settings, and loses what would leave out Node itself",
  async () => {
    const { calls, folder, prepare } = project();
    await prepare({
      NODE_ENV: "production",
      npm_config_omit: "dev",
      npm_config_fetch_retries: "5",
      npm_lifecycle_event: "start",
      npm_package_name: "completionist",
      PATH: `${join(folder, "node_modules", ".bin")}:${process.env.PATH}`,
    });
    const call = calls()[0];
    expect(call?.words).toContain("--include=dev");
    expect(call?.env).toMatchObject({ npm_config_fetch_retries: "5" });
    for (const name of ["NODE_ENV", "npm_config_omit", "npm_lifecycle_event", "npm_package_name"]) {
      expect(call?.env).not.toHaveProperty(name);
    }
    expect(call?.env.PATH).not.toContain(folder);
  },
);

describe.runIf(process.platform !== "win32")("the built program", () => {
  const built = (folder: string) => readFileSync(join(folder, "dist", "main.ts"), "utf8");

  test("is built for a start, after the dependencies, and again only when sources change", async () => {
    const { folder, prepareStart, source } = project();
    const first = await prepareStart();
    expect(first.code).toBe(0);
    expect(first.errors.trimEnd().split("\n")).toEqual([
      "completionist: preparing dependencies (npm ci), because node_modules is missing",
      "completionist: preparing the program (npm run build), because it has not been built yet",
    ]);
    expect(built(folder)).toBe("first");
    expect(await prepareStart()).toEqual({ code: 0, output: "", errors: "" });
    source("second");
    expect((await prepareStart()).errors).toContain("because its sources have changed");
    expect(built(folder)).toBe("second");
  });

  test("is no matter of tests", async () => {
    const { folder, prepare } = project();
    await prepare();
    expect(existsSync(join(folder, "dist"))).toBe(false);
  });

  test("that cannot be built ends in a clear line; the next try builds again", async () => {
    const { folder, prepareStart, source } = project();
    source("broken");
    const { code, errors } = await prepareStart();
    expect(code).toBe(1);
    expect(errors).toContain("the build failed (exit code 2); why stands above.");
    source("mended");
    expect((await prepareStart()).code).toBe(0);
    expect(built(folder)).toBe("mended");
  });
});
