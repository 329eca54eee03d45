/**
 * Responses and chunks as one line of compact JSON. Written by hand where JSON.stringify would be
 * wrong: it prints float32 values with float64 digits, and objects reorder keys that look like
 * integers and lose `__proto__`.
 */
import { printLogprob } from "./float32.ts";
import type {
  Choice,
  CompletionChunk,
  CompletionResponse,
  Logprobs,
  TopLogprobs,
} from "./responses.ts";

const text = (value: string): string => JSON.stringify(value);

/** The body of an answer that is not streamed. */
export function writeResponse(response: CompletionResponse): string {
  return (
    `{"id":${text(response.id)},"object":"text_completion","created":${response.created},` +
    `"model":${text(response.model)},"choices":${list(response.choices, writeChoice)},` +
    `"usage":${JSON.stringify(response.usage)},` +
    `"system_fingerprint":${text(response.system_fingerprint)}}`
  );
}

/** The data of one frame of a stream. */
export function writeChunk(chunk: CompletionChunk): string {
  const usage = chunk.usage === undefined ? "" : `,"usage":${JSON.stringify(chunk.usage)}`;
  const padding =
    chunk.obfuscation === undefined ? "" : `,"obfuscation":${text(chunk.obfuscation)}`;
  return (
    `{"id":${text(chunk.id)},"object":"text_completion","created":${chunk.created},` +
    `"choices":${list(chunk.choices, writeChoice)},"model":${text(chunk.model)},` +
    `"system_fingerprint":${text(chunk.system_fingerprint)}${usage}${padding}}`
  );
}

function writeChoice(choice: Choice): string {
  return (
    `{"text":${text(choice.text)},"index":${choice.index},` +
    `"logprobs":${choice.logprobs === null ? "null" : writeLogprobs(choice.logprobs)},` +
    `"finish_reason":${JSON.stringify(choice.finish_reason)}}`
  );
}

function writeLogprobs(logprobs: Logprobs): string {
  return (
    `{"tokens":${JSON.stringify(logprobs.tokens)},` +
    `"token_logprobs":${list(logprobs.token_logprobs, orNull(printLogprob))},` +
    `"top_logprobs":${list(logprobs.top_logprobs, orNull(writeTop))},` +
    `"text_offset":${JSON.stringify(logprobs.text_offset)}}`
  );
}

function writeTop(top: TopLogprobs): string {
  const entries = top.map(([token, logprob]) => `${text(token)}:${printLogprob(logprob)}`);
  return `{${entries.join(",")}}`;
}

const list = <T>(items: readonly T[], write: (item: T) => string): string =>
  `[${items.map(write).join(",")}]`;

const orNull =
  <T>(write: (item: T) => string) =>
  (item: T | null): string =>
    item === null ? "null" : write(item);
