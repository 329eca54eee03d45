/** The server as the subject of the truth tests. */
import { readFileSync } from "node:fs";
import { type ServerProcess, startServer } from "../support/server-process.ts";
import { complete, type WireLogprobs, type WireRequest } from "../support/wire.ts";

export interface TruthPrompt {
  readonly name: string;
  readonly text: string;
}

export const truthPrompts = JSON.parse(
  readFileSync(new URL("prompts.json", import.meta.url), "utf8"),
) as readonly TruthPrompt[];

/** One thread and quiet, on the default model unless `--model` is among the options. */
export function startSubject(...options: string[]): Promise<ServerProcess> {
  return startServer(["--threads", "1", "--log-level", "error", ...options]);
}

/** Logprobs of a prompt's tokens. */
export async function score(
  url: string,
  prompt: string | readonly number[],
  top = 5,
): Promise<WireLogprobs> {
  const request = { prompt, echo: true, max_tokens: 0, logprobs: top };
  return logprobsOf(url, request);
}

/** Logprobs of the only choice. */
export async function logprobsOf(url: string, request: WireRequest): Promise<WireLogprobs> {
  const { choices } = await complete(url, request);
  const logprobs = choices[0]?.logprobs ?? undefined;
  if (logprobs === undefined) throw new Error("the answer has no logprobs");
  return logprobs;
}

/** How each of these ids is written in `tokens` and `top_logprobs`. */
export async function tokenTexts(
  url: string,
  ids: ReadonlySet<number>,
): Promise<ReadonlyMap<number, string>> {
  const list = [...ids];
  const { tokens } = await score(url, list, 0);
  return new Map(list.map((id, place) => [id, tokens[place] ?? ""]));
}
