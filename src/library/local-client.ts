/** The calls of the library on an engine of this process: the path of the server, without HTTP. */
import { startCompletion } from "../completion/complete.ts";
import type { CompletionRun } from "../completion/completion-run.ts";
import type { CompletionRequest } from "../contract/completion-request.ts";
import type { Limits } from "../contract/limits.ts";
import { parseCompletionRequest, readModelName } from "../contract/parse-request.ts";
import { writeResponse } from "../contract/write-json.ts";
import type { Engine } from "../engine/engine.ts";
import { ChunkWriter, type Envelope } from "../http/chunk-writer.ts";
import { endedEarly, foldParts } from "../http/fold-parts.ts";
import { newCompletionId } from "../http/identifiers.ts";
import { detokenize, type TokensContext, tokenize } from "../http/tokens-route.ts";
import type { ModelCatalog } from "../models/catalog.ts";
import type { ModelLease } from "../models/model-lease.ts";
import {
  type CallOptions,
  ClientClosedError,
  type CompletionClient,
  type DetokenizeOptions,
  type ScoreOptions,
  type TokenizeOptions,
} from "./client.ts";
import type { CreateParameters, StreamParameters } from "./request-types.ts";
import type { CompletionChunk, CompletionResponse } from "./response-types.ts";
import { readScore, scoringRequest, type TextScore } from "./text-score.ts";
import { wrongCall } from "./wrong-call.ts";

export interface LocalClientParts {
  readonly engine: Engine;
  readonly catalog: ModelCatalog;
  readonly limits: Limits;
  /** Refuse unknown fields instead of ignoring them. */
  readonly strict: boolean;
}

/** A call that is under way. */
interface Call {
  readonly request: CompletionRequest;
  readonly run: CompletionRun;
  readonly envelope: Envelope;
  readonly lease: ModelLease;
}

export class LocalClient implements CompletionClient {
  readonly #parts: LocalClientParts;
  readonly #tokens: TokensContext;
  readonly #closed = new AbortController();
  #closing: Promise<void> | undefined;

  constructor(parts: LocalClientParts) {
    this.#parts = parts;
    this.#tokens = { catalog: parts.catalog, options: { limits: parts.limits } };
  }

  async create(request: CreateParameters, options?: CallOptions): Promise<CompletionResponse> {
    return untilAborted(this.#signal(options), async (signal) => {
      const { run, envelope, lease } = await this.#start(request, false, signal);
      const { choices, usage } = await foldParts(run.parts).finally(() => lease.release());
      // Through the writer, so that numbers and maps are those that a client of the server reads.
      return asWritten(writeResponse({ ...envelope, object: "text_completion", choices, usage }));
    });
  }

  async *stream(
    request: StreamParameters,
    options?: CallOptions,
  ): AsyncGenerator<CompletionChunk, void, void> {
    const signal = this.#signal(options);
    let lease: ModelLease | undefined;
    try {
      const call = await this.#start(request, true, signal);
      const { request: parsed, run, envelope } = call;
      lease = call.lease;
      const writer = new ChunkWriter(envelope, parsed.streamOptions);
      let complete = false;
      for await (const part of run.parts) {
        signal.throwIfAborted();
        const chunk = writer.write(part);
        if (chunk !== undefined) yield asWritten(chunk);
        complete = part.kind === "usage";
      }
      if (!complete) throw endedEarly();
    } catch (error) {
      // An aborted run may fail in any way; why it was aborted is what the caller should read.
      throw signal.aborted ? signal.reason : error;
    } finally {
      lease?.release();
    }
  }

  async score(text: string | readonly number[], options: ScoreOptions = {}): Promise<TextScore> {
    const score = readScore(await this.create(scoringRequest(text, options), options));
    if (score === undefined) throw endedEarly();
    return score;
  }

  async tokenize(text: string, options: TokenizeOptions = {}): Promise<number[]> {
    return untilAborted(this.#signal(options), async (signal) => {
      const { model, addSpecial = true } = options;
      const body = { model, prompt: text, add_special_tokens: addSpecial };
      return [...(await tokenize(this.#tokens, body, signal)).tokens];
    });
  }

  async detokenize(tokens: readonly number[], options: DetokenizeOptions = {}): Promise<string> {
    return untilAborted(this.#signal(options), async (signal) => {
      const body = { model: options.model, tokens };
      return (await detokenize(this.#tokens, body, signal)).prompt;
    });
  }

  async close(): Promise<void> {
    this.#closed.abort(new ClientClosedError());
    this.#closing ??= this.#parts.engine.close();
    await this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #signal(options: CallOptions | undefined): AbortSignal {
    const given = options?.signal;
    // One of its own for each call: one that all share would gather a listener for each.
    return AbortSignal.any([this.#closed.signal, ...(given === undefined ? [] : [given])]);
  }

  /** Checks in the order of the server: the model, then the fields, then what needs the model. */
  async #start(request: unknown, stream: boolean, signal: AbortSignal): Promise<Call> {
    signal.throwIfAborted();
    const name = readModelName(request);
    const body = defined(request as Readonly<Record<string, unknown>>);
    if ((body.stream ?? stream) !== stream) throw wrongCall(stream);
    const { catalog, limits, strict } = this.#parts;
    const model = catalog.resolve(name);
    const parsed = parseCompletionRequest({ ...body, stream }, { limits, strict });
    const lease = await model.acquire(signal);
    const leased = { engine: lease.engine, insertion: model.insertion };
    const run = await startCompletion(parsed, leased, signal).catch((error: unknown) => {
      lease.release();
      throw error;
    });
    const envelope: Envelope = {
      id: newCompletionId(),
      created: Math.floor(Date.now() / 1000),
      model: name ?? model.id,
      system_fingerprint: run.fingerprint,
    };
    return { request: parsed, run, envelope, lease };
  }
}

/** The work's result; once the signal is aborted, its reason, however the work then ends. */
async function untilAborted<Result>(
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  signal.throwIfAborted();
  try {
    const result = await work(signal);
    signal.throwIfAborted();
    return result;
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  }
}

/** Fields that are undefined are absent, as they are in JSON. */
function defined(request: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(request).filter(([, value]) => value !== undefined));
}

/** The writers and the types describe the same shapes; a test compares them. */
const asWritten = <Shape>(json: string): Shape => JSON.parse(json) as Shape;
