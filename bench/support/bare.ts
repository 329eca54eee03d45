/** Starts the bare loop (bench/bare-loop.ts) and reads its figure. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const program = fileURLToPath(new URL("../bare-loop.ts", import.meta.url));

/** Tokens a second. */
export async function bareLoop(
  model: string,
  work: "decode" | "score" | "read",
  numerics: string,
  threads: number,
  tokens: number,
): Promise<number> {
  const options = [program, model, work, numerics, String(threads), String(tokens)];
  const { stdout } = await promisify(execFile)(process.execPath, options);
  return (JSON.parse(stdout) as { tokensPerSecond: number }).tokensPerSecond;
}
