/** Starts the bare loop (bare-loop.ts) and reads its figure. */
import { childEntry } from "../llama/child-entry.ts";
import type { BareArm } from "./arms.ts";
import { BenchError } from "./bench-error.ts";
import { lastWords, startProgram } from "./children.ts";

export type BareWork = "decode" | "score" | "read";

/** Tokens a second. Rejects with the signal's reason when it is aborted. */
export async function bareLoop(
  arm: BareArm,
  work: BareWork,
  options: { readonly model: string; readonly tokens: number; readonly signal: AbortSignal },
): Promise<number> {
  const { numerics, threads } = arm;
  const { model, tokens, signal } = options;
  const entry = childEntry("bare-loop", import.meta.url);
  const program = startProgram(process.execPath, [
    ...[entry, model, work, numerics, String(threads), String(tokens)],
  ]);
  const stop = () => void program.stop();
  signal.addEventListener("abort", stop, { once: true });
  await program.ended;
  signal.removeEventListener("abort", stop);
  signal.throwIfAborted();
  const found = /"tokensPerSecond":([\d.e+-]+)/.exec(program.output())?.[1];
  if (found === undefined) {
    throw new BenchError("failed", `the bare loop ended early: ${lastWords(program.output())}`);
  }
  return Number(found);
}
