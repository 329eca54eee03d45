/** A command of the program as users run it: in a process of its own, to its end. */
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

export interface Ended {
  readonly code: number | null;
  readonly output: string;
  readonly errors: string;
}

export const programFile = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));

export function runCommand(
  words: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<Ended> {
  const child = spawn(process.execPath, [programFile, ...words], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...environment },
  });
  let output = "";
  let errors = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors += text;
  });
  return new Promise((resolve) => {
    child.once("close", (code) => resolve({ code, output, errors }));
  });
}
