/** The calls against a server: sending, trying again, and reading what comes. */
import { ApiError } from "../contract/errors.ts";
import { endOfStream, readEvents } from "../remote/event-stream-reader.ts";
import {
  type CallOptions,
  ClientClosedError,
  type CompletionClient,
  type DetokenizeOptions,
  type ScoreOptions,
  type TokenizeOptions,
} from "./client.ts";
import { ConnectionError } from "./connection-error.ts";
import { frameStatus, isErrorFrame, RemoteApiError } from "./remote-error.ts";
import type { CreateParameters, StreamParameters } from "./request-types.ts";
import type { CompletionChunk, CompletionResponse } from "./response-types.ts";
import { type RetryPolicy, retryDelayMs } from "./retry-policy.ts";
import { readScore, scoringRequest, type TextScore } from "./text-score.ts";
import { type Answer, Transport, type TransportOptions } from "./transport.ts";
import { wrongCall } from "./wrong-call.ts";

export interface RetryParts extends RetryPolicy {
  /** Rejects when the signal fires. */
  readonly sleep: (delayMs: number, signal: AbortSignal) => Promise<unknown>;
}

export class RemoteClient implements CompletionClient {
  readonly #baseUrl: string;
  readonly #transport: Transport;
  readonly #retry: RetryParts;
  readonly #closed = new AbortController();

  constructor(options: TransportOptions, retry: RetryParts) {
    this.#baseUrl = options.baseUrl;
    this.#transport = new Transport(options);
    this.#retry = retry;
  }

  async create(request: CreateParameters, options?: CallOptions): Promise<CompletionResponse> {
    if ((request as { readonly stream?: unknown }).stream === true) throw wrongCall(false);
    const body = JSON.stringify({ ...request, stream: false });
    const answer = await this.#json("/completions", body, this.#signal(options));
    if (!Array.isArray(answer.choices)) throw this.#malformed("the answer has no choices");
    return answer as unknown as CompletionResponse;
  }

  async *stream(
    request: StreamParameters,
    options?: CallOptions,
  ): AsyncGenerator<CompletionChunk, void, void> {
    if ((request as { readonly stream?: unknown }).stream === false) throw wrongCall(true);
    const body = JSON.stringify({ ...request, stream: true });
    const signal = this.#signal(options);
    const answer = await this.#retried(signal, async () => {
      const begun = await this.#transport.post("/completions", body, signal);
      if (!isSuccess(begun)) throw await failure(begun);
      return begun;
    });
    let complete = false;
    try {
      yield* this.#chunks(answer);
      complete = true;
    } finally {
      if (complete) await answer.finish();
      else answer.discard();
    }
  }

  async score(text: string | readonly number[], options: ScoreOptions = {}): Promise<TextScore> {
    const score = readScore(await this.create(scoringRequest(text, options), options));
    if (score !== undefined) return score;
    throw this.#malformed("the answer has no logprobs of the prompt (needs `echo` and `logprobs`)");
  }

  async tokenize(text: string, options: TokenizeOptions = {}): Promise<number[]> {
    const { model, addSpecial = true } = options;
    const body = { model, prompt: text, add_special_tokens: addSpecial };
    const { tokens } = await this.#side("/tokenize", body, options);
    if (Array.isArray(tokens)) return tokens as number[];
    throw this.#malformed("the answer has no tokens");
  }

  async detokenize(tokens: readonly number[], options: DetokenizeOptions = {}): Promise<string> {
    const { prompt } = await this.#side("/detokenize", { model: options.model, tokens }, options);
    if (typeof prompt === "string") return prompt;
    throw this.#malformed("the answer has no text");
  }

  async close(): Promise<void> {
    this.#closed.abort(new ClientClosedError());
    this.#transport.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #signal(options: CallOptions | undefined): AbortSignal {
    const given = options?.signal;
    // One of its own for each call: one that all share would gather a listener for each.
    return AbortSignal.any([this.#closed.signal, ...(given === undefined ? [] : [given])]);
  }

  async *#chunks(answer: Answer): AsyncGenerator<CompletionChunk> {
    for await (const { data, name } of this.#events(answer)) {
      if (data === endOfStream) return;
      const chunk = parse(data);
      if (name === "error" || isErrorFrame(chunk)) {
        throw new RemoteApiError({
          status: frameStatus,
          text: data,
          requestId: answer.header("x-request-id"),
        });
      }
      if (!isObject(chunk) || !Array.isArray(chunk.choices)) {
        throw this.#malformed("a chunk of the stream is none");
      }
      yield chunk as unknown as CompletionChunk;
    }
    const type = answer.header("content-type") ?? "no type";
    if (!type.startsWith("text/event-stream")) throw this.#malformed(`it sent ${type}, no stream`);
    throw new ConnectionError("cut", `the stream of ${this.#baseUrl} ended before its [DONE]`);
  }

  async *#events(answer: Answer) {
    try {
      yield* readEvents(answer.body);
    } catch (error) {
      throw error instanceof RangeError ? this.#malformed(error.message) : error;
    }
  }

  /** Servers differ in whether these routes are under `/v1` or beside it. */
  async #side(path: string, body: object, options: CallOptions) {
    const signal = this.#signal(options);
    const text = JSON.stringify(body);
    try {
      return await this.#json(path, text, signal);
    } catch (error) {
      const absent = error instanceof ApiError && (error.status === 404 || error.status === 405);
      if (!absent || !this.#baseUrl.endsWith("/v1")) throw error;
      return this.#json(`/..${path}`, text, signal);
    }
  }

  async #json(path: string, body: string, signal: AbortSignal) {
    return this.#retried(signal, async () => {
      const answer = await this.#transport.post(path, body, signal);
      if (!isSuccess(answer)) throw await failure(answer);
      const value = parse(await readText(answer));
      if (isObject(value)) return value;
      throw this.#malformed("the answer is no JSON object");
    });
  }

  /** Tries again as long as the policy says so. */
  async #retried<Result>(signal: AbortSignal, attempt: () => Promise<Result>): Promise<Result> {
    for (let retriesDone = 0; ; retriesDone += 1) {
      signal.throwIfAborted();
      try {
        return await attempt();
      } catch (error) {
        const delayMs = this.#delayMs(error, retriesDone);
        if (signal.aborted || delayMs === undefined) throw thrown(error);
        await this.#retry.sleep(delayMs, signal).catch((problem) => {
          throw signal.aborted ? signal.reason : problem;
        });
      }
    }
  }

  #delayMs(error: unknown, retriesDone: number): number | undefined {
    if (error instanceof FailedAttempt) return retryDelayMs(this.#retry, retriesDone, error.answer);
    if (!(error instanceof ConnectionError) || error.reason === "malformed") return undefined;
    return retryDelayMs(this.#retry, retriesDone, undefined);
  }

  #malformed(what: string): ConnectionError {
    return new ConnectionError("malformed", `${this.#baseUrl}: ${what}`);
  }
}

/** An answer that is an error, until it is decided whether to try again. */
class FailedAttempt extends Error {
  readonly answer: Answer;
  readonly error: RemoteApiError;

  constructor(answer: Answer, error: RemoteApiError) {
    super(error.message);
    this.answer = answer;
    this.error = error;
  }
}

async function failure(answer: Answer): Promise<FailedAttempt> {
  const source = { status: answer.status, requestId: answer.header("x-request-id") };
  return new FailedAttempt(answer, new RemoteApiError({ ...source, text: await readText(answer) }));
}

const thrown = (error: unknown): unknown => (error instanceof FailedAttempt ? error.error : error);

const isSuccess = ({ status }: Answer): boolean => status >= 200 && status < 300;

/** Bytes of an answer in one piece: with a long echo and its logprobs it is large. */
const bodyBytesMax = 256 * 1024 * 1024;

async function readText({ body, discard }: Answer): Promise<string> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of body) {
    pieces.push(piece);
    bytes += piece.length;
    if (bytes <= bodyBytesMax) continue;
    discard();
    throw new ConnectionError("malformed", `the answer is longer than ${bodyBytesMax} bytes`);
  }
  return Buffer.concat(pieces).toString("utf8");
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
