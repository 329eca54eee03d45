/** The requests that run while the engine is killed, and what a quiet server answers to them. */
import { joinChoices, type WireChoice } from "../support/wire.ts";

export interface FaultRequest {
  readonly kind: "stream" | "plain" | "scoring";
  readonly body: Readonly<Record<string, unknown>>;
}

const prompts = [
  "The river",
  "Once upon a time there was",
  "A list of things that never",
  "def main():",
];
const long = "The quick brown fox jumps over the lazy dog. ".repeat(12);

/** Long enough to be met in mid-work. Seeds and reproducible numerics make every answer exact. */
export const faultRequests: readonly FaultRequest[] = [
  ...prompts.map((prompt, index) => ({
    kind: "stream" as const,
    body: { prompt, stream: true, max_tokens: 300, seed: 10 + index, ignore_eos: true },
  })),
  ...prompts.map((prompt, index) => ({
    kind: "plain" as const,
    body: { prompt, n: 2, logprobs: 3, max_tokens: 150, seed: 20 + index, ignore_eos: true },
  })),
  ...prompts.map((prompt) => ({
    kind: "scoring" as const,
    body: { prompt: `${prompt} ${long}`, echo: true, logprobs: 5, max_tokens: 0 },
  })),
];

/** How one request went. */
export type Outcome =
  /** Ended as it should. `choices` as JSON. */
  | { readonly kind: "complete"; readonly choices: string }
  /** A stream that broke and said so; `texts` by choice. */
  | { readonly kind: "broken"; readonly texts: readonly string[] }
  /** The error envelope instead of an answer. */
  | { readonly kind: "refused"; readonly status: number }
  /** Nothing of that. */
  | { readonly kind: "wrong"; readonly problem: string };

/** Never rejects; a request that does not end in time is `wrong`. */
export async function send(
  url: string,
  request: FaultRequest,
  deadlineMs: number,
): Promise<Outcome> {
  try {
    const response = await fetch(`${url}/v1/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(request.body),
      signal: AbortSignal.timeout(deadlineMs),
    });
    const text = await response.text();
    if (response.status !== 200) return refusal(response.status, text);
    if (request.kind === "stream") return streamOutcome(text);
    const { choices } = JSON.parse(text) as { choices: readonly WireChoice[] };
    return { kind: "complete", choices: JSON.stringify(choices) };
  } catch (error) {
    const cause = (error as { cause?: unknown }).cause;
    return { kind: "wrong", problem: `${String(error)}${cause ? `: ${String(cause)}` : ""}` };
  }
}

function refusal(status: number, text: string): Outcome {
  const { error } = JSON.parse(text) as { error?: { type?: unknown } };
  if (error?.type === "server_error" && (status === 500 || status === 503)) {
    return { kind: "refused", status };
  }
  return { kind: "wrong", problem: `status ${status}: ${text}` };
}

function streamOutcome(text: string): Outcome {
  const frames = text.split("\n\n").filter((frame) => frame.startsWith("data: "));
  if (frames.pop() !== "data: [DONE]") return { kind: "wrong", problem: "no [DONE] at the end" };
  const chunks = frames.map((frame) => JSON.parse(frame.slice("data: ".length)) as Chunk);
  const choices = new Map<number, WireChoice>();
  for (const choice of chunks.flatMap((chunk) => chunk.choices ?? [])) {
    const known = choices.get(choice.index);
    choices.set(choice.index, known === undefined ? choice : joinChoices(known, choice));
  }
  const all = [...choices.values()].sort((left, right) => left.index - right.index);
  if (chunks.at(-1)?.error !== undefined) {
    return { kind: "broken", texts: all.map((choice) => choice.text) };
  }
  const unfinished = all.length === 0 || all.some((choice) => choice.finish_reason === null);
  if (unfinished) return { kind: "wrong", problem: "a stream ended without finish and error" };
  return { kind: "complete", choices: JSON.stringify(all) };
}

interface Chunk {
  readonly choices?: readonly WireChoice[];
  readonly error?: unknown;
}

/** What is wrong with an outcome, given the choices of a quiet server. */
export function verdict(outcome: Outcome, reference: string): string | undefined {
  if (outcome.kind === "wrong") return outcome.problem;
  if (outcome.kind === "refused") return undefined;
  if (outcome.kind === "complete") {
    return outcome.choices === reference ? undefined : `other choices: ${outcome.choices}`;
  }
  const whole = (JSON.parse(reference) as readonly WireChoice[]).map((choice) => choice.text);
  const strays = outcome.texts.filter((text, index) => !whole[index]?.startsWith(text));
  return strays.length === 0 ? undefined : `a broken stream is no beginning: ${strays[0]}`;
}
