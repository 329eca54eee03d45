import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, onTestFinished, test } from "vitest";
import { BenchError } from "./bench-error.ts";
import { treeBytes } from "./process-bytes.ts";

const megabyte = 1_000_000;
/** Fills so much memory, says so, and stays until its input ends: then nobody is left behind. */
const filler = (megabytes: number): string =>
  `globalThis.kept = Buffer.alloc(${megabytes * megabyte}, 1);` +
  `process.stdin.on("end", () => process.exit()).resume(); console.log("filled");`;

async function started(script: string): Promise<number> {
  const child = spawn(process.execPath, ["-e", script], { stdio: ["pipe", "pipe", "inherit"] });
  onTestFinished(async () => {
    child.stdin.end();
    await once(child, "exit");
  });
  await once(child.stdout, "data");
  return child.pid as number;
}

/** A process that starts another one, whose input ends with it. */
const parent = (script: string): string =>
  `const child = require("node:child_process").spawn(process.execPath, ` +
  `["-e", ${JSON.stringify(script)}], { stdio: ["pipe", "inherit", "inherit"] });` +
  `process.stdin.on("end", () => process.exit()).resume();`;

test("a process's memory is its own and that of the processes it started", async () => {
  const alone = await treeBytes(await started(filler(200)));
  const both = await treeBytes(await started(parent(filler(200))));
  expect(alone.resident).toBeGreaterThan(200 * megabyte);
  expect(both.resident).toBeGreaterThan(alone.resident + 20 * megabyte);
  // The program's own pages are counted in both.
  expect(both.proportional).toBeLessThan(both.resident - 10 * megabyte);
});

test("a process that is gone is an error", async () => {
  await expect(treeBytes(2 ** 22 + 1)).rejects.toThrow(BenchError);
});
