import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { tinyGguf } from "../src/llama/testing/tiny-gguf.ts";

const folder = mkdtempSync(join(tmpdir(), "write-tiny-gguf-"));
afterAll(() => rmSync(folder, { recursive: true }));

function run(...parameters: string[]): { status: number | null; stdout: string; stderr: string } {
  const script = join(import.meta.dirname, "write-tiny-gguf.ts");
  return spawnSync(process.execPath, [script, ...parameters], { encoding: "utf8" });
}

test("writes the model that the options describe", () => {
  const output = join(folder, "fim.gguf");
  const chosen = ["--variant", "fim", "--type", "Q8_0", "--seed", "5", "--context", "4096"];
  const { status, stderr } = run("--output", output, ...chosen);
  expect([status, stderr]).toEqual([0, ""]);
  const options = { variant: "fim", tensorType: "q8_0", seed: 5, contextLength: 4096 } as const;
  expect(readFileSync(output).equals(tinyGguf(options))).toBe(true);
});

test.each([
  [[], /--output FILE is missing/],
  [["--output", "x", "--variant", "gpt"], /variant must be one of plain, fim/],
  [["--output", "x", "--type", "q3"], /type must be one of f32, f16, q8_0/],
  [["--output", "x", "--seed", "abc"], /--seed takes a whole number, not "abc"/],
  [["--output", "x", "--sead", "1"], /--sead/],
])("%j: one line says what is wrong", (parameters, message) => {
  const { status, stderr } = run(...parameters);
  expect(status).toBe(1);
  expect(stderr).toMatch(message);
  expect(stderr).toMatch(/^write-tiny-gguf: .*\n$/);
});
