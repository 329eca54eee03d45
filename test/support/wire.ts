/** Completions as clients see them, read with as little code as possible. */

export interface WireLogprobs {
  readonly tokens: readonly string[];
  readonly token_logprobs: readonly (number | null)[];
  readonly top_logprobs: readonly (Readonly<Record<string, number>> | null)[];
  readonly text_offset: readonly number[];
}

export interface WireChoice {
  readonly text: string;
  readonly index: number;
  readonly logprobs: WireLogprobs | null;
  readonly finish_reason: string | null;
}

export interface WireUsage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
}

export interface WireAnswer {
  readonly choices: readonly WireChoice[];
  readonly usage: WireUsage;
}

/** Fields of a request, `stream` apart. */
export type WireRequest = Readonly<Record<string, unknown>>;

/** Throws an Error with status and body for everything but a 200. */
export async function complete(url: string, request: WireRequest): Promise<WireAnswer> {
  const response = await post(url, "/v1/completions", request);
  return (await response.json()) as WireAnswer;
}

/** The same through a stream, put together again. */
export async function completeStreamed(url: string, request: WireRequest): Promise<WireAnswer> {
  const stream = { stream: true, stream_options: { include_usage: true } };
  const response = await post(url, "/v1/completions", { ...request, ...stream });
  const frames = (await response.text())
    .split("\n\n")
    .filter((frame) => frame.startsWith("data: {"));
  const choices = new Map<number, WireChoice>();
  let usage: WireUsage | undefined;
  for (const frame of frames) {
    const chunk = JSON.parse(frame.slice("data: ".length)) as Partial<WireAnswer>;
    for (const choice of chunk.choices ?? []) {
      const known = choices.get(choice.index);
      choices.set(choice.index, known === undefined ? choice : joinChoices(known, choice));
    }
    usage = chunk.usage ?? undefined;
  }
  if (usage === undefined) throw new Error("the last chunk of the stream has no usage");
  return { choices: [...choices.values()].sort((a, b) => a.index - b.index), usage };
}

/** Token ids of a text, as the server's own route gives them. */
export async function tokenize(url: string, prompt: string): Promise<number[]> {
  const response = await post(url, "/tokenize", { prompt, add_special_tokens: false });
  return ((await response.json()) as { tokens: number[] }).tokens;
}

async function post(url: string, path: string, body: WireRequest): Promise<Response> {
  const response = await fetch(`${url}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
  return response;
}

/** Two parts of one choice as one. */
export function joinChoices(left: WireChoice, right: WireChoice): WireChoice {
  const join = <T>(list: (logprobs: WireLogprobs) => readonly T[]): readonly T[] => [
    ...(left.logprobs === null ? [] : list(left.logprobs)),
    ...(right.logprobs === null ? [] : list(right.logprobs)),
  ];
  const logprobs: WireLogprobs | null =
    right.logprobs === null
      ? left.logprobs
      : {
          tokens: join(({ tokens }) => tokens),
          token_logprobs: join(({ token_logprobs }) => token_logprobs),
          top_logprobs: join(({ top_logprobs }) => top_logprobs),
          text_offset: join(({ text_offset }) => text_offset),
        };
  return { ...right, text: left.text + right.text, logprobs };
}
