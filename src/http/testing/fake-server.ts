/** A server over a fake engine and scripted completions, and the values its tests share. */
import type { FastifyInstance } from "fastify";
import type { CompletionPart, CompletionRun } from "../../completion/completion-run.ts";
import type { CompletionRequest } from "../../contract/completion-request.ts";
import type { Choice, Logprobs, Usage } from "../../contract/responses.ts";
import type { Engine, Vocabulary } from "../../engine/engine.ts";
import { ModelCatalog, type ServedModel } from "../../models/catalog.ts";
import { alwaysLoaded } from "../../models/model-lease.ts";
import { createServer, type ServerParts } from "../server.ts";

const endOfText = 256;

/** Tokens 0..255 are bytes, 256 is `<|endoftext|>`. */
const vocabulary: Vocabulary = {
  size: 257,
  bytes: (token) => (token === endOfText ? Buffer.from("<|endoftext|>") : Buffer.from([token])),
  isSpecial: (token) => token === endOfText,
  isEndOfGeneration: (token) => token === endOfText,
  bos: undefined,
  eos: endOfText,
  pad: undefined,
  addsBos: false,
  documentStart: endOfText,
  infill: undefined,
  chatTemplate: "{{ messages }}",
  specialToken: (text) => (text === "<|endoftext|>" ? endOfText : undefined),
};

const engine: Engine = {
  describe: () => ({
    artifact: "fake.Q8_0",
    fingerprint: "fp_fake",
    contextLength: 4096,
    slots: 8,
    vocabulary,
  }),
  tokenize: async (text, { addSpecial }) => [
    ...(addSpecial ? [endOfText] : []),
    ...Buffer.from(text),
  ],
  run: () => {
    throw new Error("the fake engine runs nothing");
  },
  close: async () => {},
};

const model = (id: string): ServedModel =>
  alwaysLoaded({ id, created: 1_700_000_000, insertion: { kind: "auto" } }, engine);

export const catalog = new ModelCatalog({
  models: [model("fake"), model("org/name")],
  aliases: new Map([["davinci-002", "fake"]]),
  defaultModel: "fake",
});

export type Script = (
  request: CompletionRequest,
  signal: AbortSignal,
) => AsyncIterable<CompletionPart>;

/** A log that keeps its lines. */
export class RecordedLog {
  readonly lines: { level: string; fields: Readonly<Record<string, unknown>> }[] = [];
  info = this.#record("info");
  warn = this.#record("warn");
  error = this.#record("error");

  #record(level: string) {
    return (fields: object) => {
      this.lines.push({ level, fields: fields as Readonly<Record<string, unknown>> });
    };
  }
}

/** A server whose completions follow the script. */
export function fakeServer(
  parts: Partial<ServerParts> = {},
  script: Script = () => oneChoice("Hi"),
): FastifyInstance {
  return createServer({
    catalog,
    log: new RecordedLog(),
    startCompletion: async (request, _, signal) => scriptedRun(request, script(request, signal)),
    ...parts,
  });
}

/** A run of a prompt of three tokens for each candidate; what is used is what the parts say. */
export function scriptedRun(
  request: CompletionRequest,
  script: AsyncIterable<CompletionPart>,
): CompletionRun {
  let used = usage(0);
  async function* parts() {
    for await (const part of script) {
      if (part.kind !== "admitted") used = part.usage;
      yield part;
    }
  }
  return {
    artifact: "fake.Q8_0",
    fingerprint: "fp_fake",
    promptTokens: 3,
    completionTokensMax: request.maxTokens * request.bestOf,
    candidates: request.bestOf,
    used: () => used,
    parts: parts(),
  };
}

export function usage(completionTokens: number): Usage {
  return {
    prompt_tokens: 3,
    completion_tokens: completionTokens,
    total_tokens: 3 + completionTokens,
    prompt_tokens_details: { cached_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 0 },
  };
}

export function choicePart(choice: Partial<Choice>, used = 1): CompletionPart {
  const full = { text: "", index: 0, logprobs: null, finish_reason: null, ...choice };
  return { kind: "choice", choice: full, usage: usage(used) };
}

export function logprobsOf(tokens: readonly string[], offset: number): Logprobs {
  return {
    tokens: [...tokens],
    token_logprobs: tokens.map(() => -0.5),
    top_logprobs: tokens.map((token) => [[token, -0.5]]),
    text_offset: tokens.map((_, index) => offset + index),
  };
}

export async function* partsOf(parts: readonly CompletionPart[]): AsyncGenerator<CompletionPart> {
  yield { kind: "admitted" };
  yield* parts;
}

/** The text in one part, then its usage. */
export function oneChoice(text: string): AsyncGenerator<CompletionPart> {
  return partsOf([choicePart({ text, finish_reason: "stop" }), { kind: "usage", usage: usage(1) }]);
}

/** A promise to be settled from outside. */
export function gate(): { readonly opened: Promise<void>; open(): void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { opened: promise, open: resolve };
}

/** Resolves when the signal fires. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve());
  });
}
