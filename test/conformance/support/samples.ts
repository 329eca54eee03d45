/**
 * Requests of many shapes to the tiny models, whole and streamed, sent once: the answers on which
 * rules about every answer are checked.
 */
import type { Body, CompletionReply, StreamReply } from "./api.ts";
import { type ServerName, server, tinyServers } from "./servers.ts";
import type { Choice } from "./wire.ts";
import { foldChunks } from "./wire.ts";

export interface Sample {
  /** Server and shape, for messages. */
  readonly name: string;
  readonly server: ServerName;
  readonly body: Body;
  readonly whole: CompletionReply;
  /** Undefined where the request cannot be streamed. */
  readonly streamed: StreamReply | undefined;
}

const prompt = "The river was";
const script = "Grüße 中文 😀 é";

/** The end tokens of the models are 0 (byte-level) and 2 (pieces). */
const shapes = (endToken: number, ids: readonly number[]): Readonly<Record<string, Body>> => ({
  plain: { prompt, max_tokens: 8 },
  "logprobs 0": { prompt, max_tokens: 8, logprobs: 0 },
  "logprobs 3": { prompt, max_tokens: 24, logprobs: 3, seed: 3 },
  "echo and logprobs": { prompt: script, max_tokens: 8, echo: true, logprobs: 5 },
  "echo alone": { prompt: script, max_tokens: 4, echo: true },
  "three choices": { prompt, max_tokens: 12, n: 3, logprobs: 2 },
  "two prompts, two choices": { prompt: [prompt, script], max_tokens: 6, n: 2, logprobs: 1 },
  "token ids with echo": { prompt: ids, max_tokens: 4, echo: true, logprobs: 2 },
  "stop strings": { prompt, max_tokens: 24, stop: ["e", "t", " "], logprobs: 2 },
  "scoring alone": { prompt: script, max_tokens: 0, echo: true, logprobs: 2 },
  "nothing at all": { prompt, max_tokens: 0 },
  "document start": { prompt: "", max_tokens: 6, echo: true, logprobs: 1 },
  ended: { prompt, max_tokens: 6, logit_bias: { [endToken]: 100 } },
  "ended with echo": {
    ...{ prompt, max_tokens: 1, echo: true, logprobs: 1 },
    logit_bias: { [endToken]: 100 },
  },
  "special tokens in between": {
    ...{ prompt, max_tokens: 12, logprobs: 1, ignore_eos: true },
    logit_bias: { [endToken]: 6 },
  },
  "the best two of four": { prompt, max_tokens: 6, n: 2, best_of: 4, logprobs: 1 },
});

let collected: Promise<readonly Sample[]> | undefined;

export function samples(): Promise<readonly Sample[]> {
  collected ??= collect();
  return collected;
}

async function collect(): Promise<Sample[]> {
  const found: Sample[] = [];
  for (const name of tinyServers) {
    const api = await server(name);
    const ids = await api.tokenize(script, false);
    for (const [shape, fields] of Object.entries(shapes(name === "bytes" ? 2 : 0, ids))) {
      const body = { seed: 1, ...fields };
      const whole = await api.complete(body);
      const streamed =
        fields.best_of === undefined
          ? await api.stream({ ...body, stream_options: { include_usage: true } })
          : undefined;
      found.push({ name: `${name}: ${shape}`, server: name, body, whole, streamed });
    }
  }
  return found;
}

/** The choices of the whole answer and those that the chunks of the stream add up to. */
export function choicesOf({ whole, streamed }: Sample): Choice[] {
  return [...whole.choices, ...(streamed === undefined ? [] : foldChunks(streamed.chunks))];
}

/** Every choice object that was on the wire: of the whole answer, and of each chunk. */
export function wireChoices({ whole, streamed }: Sample): Choice[] {
  return [...whole.choices, ...(streamed?.chunks ?? []).flatMap(({ choices }) => choices)];
}
