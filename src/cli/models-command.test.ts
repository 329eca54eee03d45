/** The commands below `models` as users run them: in a process of their own. */
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { readGgufHeader } from "../llama/gguf-header.ts";
import { writeSplitGguf } from "../llama/testing/split-gguf.ts";
import { tinyGguf, tinyGgufContent } from "../llama/testing/tiny-gguf.ts";
import { optimize } from "./models-optimize.ts";
import { runCommandLine } from "./program.ts";
import { describeFailure, UserError } from "./user-error.ts";

const never = () => Promise.reject(new Error("another command ran"));
/** For what fails before anything is done, without a process. */
const actions = {
  serve: never,
  mcp: never,
  bench: never,
  keys: { create: never, list: never, update: never, rotate: never, revoke: never },
  usage: never,
  database: { backup: never, restore: never, prune: never, info: never },
  models: { list: never, pull: never, info: never, remove: never, optimize },
};

const command = fileURLToPath(new URL("./main.ts", import.meta.url));

interface Ended {
  readonly code: number | null;
  readonly output: string;
  readonly errors: string;
}

interface Place {
  /** The cache folder. */
  readonly cache: string;
  readonly model: string;
}

function place(): Place {
  const cache = mkdtempSync(join(tmpdir(), "completionist-models-command-"));
  onTestFinished(() => rmSync(cache, { recursive: true, force: true }));
  mkdirSync(join(cache, "models"));
  const model = join(cache, "models", "tiny.F32.gguf");
  writeFileSync(model, tinyGguf());
  return { cache, model };
}

function run(
  { cache }: Place,
  words: readonly string[],
  onErrors?: (errors: string, stop: () => void) => void,
): Promise<Ended> {
  const child = spawn(process.execPath, [command, "models", ...words, "--cache", cache], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  let errors = "";
  child.stdout.on("data", (data: Buffer) => {
    output += data.toString();
  });
  child.stderr.on("data", (data: Buffer) => {
    errors += data.toString();
    onErrors?.(errors, () => child.kill("SIGINT"));
  });
  return new Promise((resolve) => {
    child.once("close", (code) => resolve({ code, output, errors }));
  });
}

const quick = ["--types", "q8_0", "--rounds", "1", "--threads", "1"];

describe("optimize", () => {
  test("prints a table, a sentence, and how to go on", async () => {
    const here = place();
    const { code, output, errors } = await run(here, ["optimize", here.model, ...quick]);
    expect([code, errors.split("\n").length - 1]).toEqual([0, 3]);
    expect(output).toMatch(
      /^tiny\.F32\.gguf \(F32\), numerics reproducible, 1 thread, one round\n/,
    );
    expect(output).toMatch(/^F32 \* +0\.6 MB +\d+ +\d+ +\d+ +1\.00 x +-\d\.\d{4} +- +-$/m);
    expect(output).toMatch(
      /^Q8_0 +0\.2 MB +\d+ +\d+ +\d+ +\d+\.\d\d x +-\d\.\d{4} +\d\.\d{3} +\d/m,
    );
    expect(output).toMatch(/^(?:Take Q8_0: it is the fastest|Keep F32: no other type)/m);
    expect(readdirSync(here.cache)).toEqual(["models"]);
  });

  test("--json prints the same for programs; a stored model is known by its name", async () => {
    const here = place();
    const { code, output } = await run(here, ["optimize", "tiny.F32", ...quick, "--json"]);
    expect(code).toBe(0);
    const answer = JSON.parse(output);
    expect(answer).toMatchObject({ file: here.model, rounds: 1, threads: 1, tolerance: 0.01 });
    expect(answer.types.map((each: { type: string }) => each.type)).toEqual(["F32", "Q8_0"]);
    expect(answer.types[0]).toMatchObject({ original: true, speedup: 1, mean_difference: 0 });
  });

  test("--convert writes the file and tells how to serve it", async () => {
    const here = place();
    const { code, output } = await run(here, ["optimize", here.model, "--convert", "Q8_0"]);
    const made = join(here.cache, "models", "tiny.Q8_0.gguf");
    expect(code).toBe(0);
    expect(output).toBe(
      `Wrote ${made} (0.2 MB). Serve it with:\n  npx completionist serve --model ${made}\n`,
    );
    expect([...readGgufHeader(made).matrixTypes]).toEqual(["Q8_0"]);
    const again = await run(here, ["optimize", here.model, "--convert", "q8_0"]);
    expect(again).toMatchObject({
      code: 1,
      errors: `completionist: ${made} is there already; --force replaces it\n`,
    });
  });

  test("leaves nothing behind at Ctrl-C", async () => {
    const here = place();
    const words = ["optimize", here.model, "--types", "q8_0,q4_0", "--rounds", "50"];
    const { code, output } = await run(here, words, (errors, stop) => {
      if (errors.includes("measuring")) stop();
    });
    expect([code, output]).toEqual([130, ""]);
    expect(readdirSync(here.cache)).toEqual(["models"]);
    expect(readdirSync(join(here.cache, "models"))).toEqual(["tiny.F32.gguf"]);
  });
});

describe("what is wrong is told in one line", () => {
  const types = "f32, f16, q4_0, q4_1, q8_0, q5_0, q5_1, q2_k, q3_k_s, q3_k_m, q3_k_l, q4_k_s";

  test.each([
    ["--types q9", 2, `There is no weight type q9; available: ${types}`],
    [
      "--types iq2_xs",
      2,
      "The weight type iq2_xs needs an importance matrix, which is not made here",
    ],
    ["--types ,", 2, "--types: expected weight types with commas between them"],
    ["--convert IQ1_S", 2, "The weight type IQ1_S needs an importance matrix"],
    ["--convert q8_0 --rounds 3", 2, "--rounds is for measuring; --convert only converts"],
    ["--output x.gguf", 2, "--output goes with --convert TYPE"],
    ["--rounds 0", 2, '--rounds: expected a whole number from 1 to 99, got "0"'],
    ["--text /nowhere/a.txt", 1, "the text file /nowhere/a.txt cannot be read (ENOENT)"],
  ])("optimize %s", async (words, code, message) => {
    const { cache, model } = place();
    const line = ["models", "optimize", model, ...words.split(" "), "--cache", cache];
    const failed: unknown = await runCommandLine(line, "1.2.3", actions).catch((error) => error);
    expect(failed).toBeInstanceOf(UserError);
    expect(describeFailure(failed)).toMatchObject({ exitCode: code });
    expect(describeFailure(failed).text).toContain(message);
  });

  test("a text that is empty, or none", async () => {
    const here = place();
    const text = join(here.cache, "a.txt");
    const ask = () => run(here, ["optimize", here.model, ...quick, "--text", text]);
    writeFileSync(text, " \n");
    expect((await ask()).errors).toBe(`completionist: the text file ${text} is empty\n`);
    writeFileSync(text, Uint8Array.of(0xff, 0xfe, 0x41));
    expect((await ask()).errors).toBe(`completionist: the text file ${text} is not UTF-8 text\n`);
    writeFileSync(text, "too short");
    expect((await ask()).errors).toMatch(/The text has \d+ tokens; at least 32 are needed\.\n$/);
  });

  test("a file that is none, or no model", async () => {
    const here = place();
    const none = await run(here, ["optimize", "none"]);
    expect(none.code).toBe(1);
    expect(none.errors).toMatch(/^completionist: There is no model file at .* no model none in /);
    const text = join(here.cache, "models", "text.gguf");
    writeFileSync(text, "<html>");
    const odd = await run(here, ["optimize", text]);
    expect(odd.errors).toMatch(/text.gguf is not a GGUF model/);
  });
});

test("list shows sizes and types, remove removes, info tells", async () => {
  const here = place();
  const folder = join(here.cache, "models");
  writeSplitGguf(tinyGgufContent({ tensorType: "q8_0" }), { folder, name: "big", count: 2 });
  const listed = await run(here, ["list"]);
  expect(listed.output).toBe(
    `${folder}\n   0.2 MB  Q8_0  big-00001-of-00002.gguf  (2 files)\n   0.6 MB  F32   tiny.F32.gguf\n`,
  );
  const removed = await run(here, ["remove", "big"]);
  expect(removed.output.trimEnd().split("\n")).toHaveLength(2);
  expect(existsSync(join(folder, "big-00001-of-00002.gguf"))).toBe(false);
  const outside = await run(here, ["remove", "../tiny.F32.gguf"]);
  expect(outside).toMatchObject({ code: 1, output: "" });
  const info = await run(here, ["info", "tiny.F32", "--json"]);
  const answer = JSON.parse(info.output);
  expect(answer).toMatchObject({ architecture: "llama", type: "F32", trained_context: 512 });
  expect(answer.numerics).toEqual({ set: "reproducible", reproducible: true, exact: true });
  const text = await run(here, ["info", "tiny.F32"]);
  expect(text.output).toMatch(/^parameters +\d+ in 2 layers$/m);
});
