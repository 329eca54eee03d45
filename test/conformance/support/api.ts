/** Plain HTTP against one server, with answers as text and as values. */
import { expect } from "vitest";
import type { ApiError, Chunk, Completion } from "./wire.ts";

export type Body = Readonly<Record<string, unknown>>;

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

export interface CompletionReply extends Completion {
  readonly raw: string;
  readonly headers: Headers;
}

export interface StreamReply {
  readonly raw: string;
  readonly headers: Headers;
  /** The data of all frames but `[DONE]`. */
  readonly frames: readonly string[];
  readonly chunks: readonly Chunk[];
}

export interface SendOptions {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as it is; an object is sent as JSON. */
  readonly body?: string | Body;
}

export const completionsPath = "/v1/completions";

export class Api {
  /** Without a path. */
  readonly url: string;

  constructor(url: string) {
    this.url = url;
  }

  get port(): number {
    return Number(new URL(this.url).port);
  }

  async send(path: string, options: SendOptions = {}): Promise<Reply> {
    const { body, headers = {} } = options;
    const response = await fetch(this.url + path, {
      method: options.method ?? (body === undefined ? "GET" : "POST"),
      headers:
        typeof body === "object" ? { "content-type": "application/json", ...headers } : headers,
      ...(body === undefined ? {} : { body: bodyBytes(body) }),
    });
    return { status: response.status, headers: response.headers, text: await response.text() };
  }

  /** A completion that must succeed. */
  async complete(body: Body, path = completionsPath): Promise<CompletionReply> {
    const { status, headers, text } = await this.send(path, { body });
    expect(status, text).toBe(200);
    return { ...(JSON.parse(text) as Completion), raw: text, headers };
  }

  /** A streamed completion that must succeed and end with [DONE]. */
  async stream(body: Body): Promise<StreamReply> {
    const request = { body: { ...body, stream: true } };
    const { status, headers, text } = await this.send(completionsPath, request);
    expect(status, text).toBe(200);
    const frames = framesOf(text);
    expect(frames.at(-1)).toBe("[DONE]");
    const data = frames.slice(0, -1);
    const chunks = data.map((frame) => JSON.parse(frame) as Chunk);
    return { raw: text, headers, frames: data, chunks };
  }

  /** A completion that must be refused: its status and the four fields of the error. */
  async refuse(
    body: string | Body,
    options: SendOptions = {},
  ): Promise<ApiError & { status: number }> {
    const { status, text } = await this.send(completionsPath, { ...options, body });
    return { status, ...errorOf(text) };
  }

  async tokenize(text: string, addSpecial = true): Promise<number[]> {
    const reply = await this.send("/tokenize", {
      body: { prompt: text, add_special_tokens: addSpecial },
    });
    return (JSON.parse(reply.text) as { tokens: number[] }).tokens;
  }
}

/** As bytes, so that fetch adds no content type of its own. */
const bodyBytes = (body: string | Body): Uint8Array<ArrayBuffer> =>
  new Uint8Array(Buffer.from(typeof body === "string" ? body : JSON.stringify(body)));

/** The error of an error body, whose envelope must be exact. */
export function errorOf(text: string): ApiError {
  const body = JSON.parse(text) as { error: ApiError };
  expect(Object.keys(body)).toEqual(["error"]);
  expect(Object.keys(body.error)).toEqual(["message", "type", "param", "code"]);
  return body.error;
}

/** The data of each frame; every frame must be one `data: ` line and an empty line. */
export function framesOf(raw: string): string[] {
  const frames = raw.split("\n\n");
  expect(frames.pop()).toBe("");
  return frames.map((frame) => {
    expect(frame).toMatch(/^data: [^\n]+$/);
    return frame.slice("data: ".length);
  });
}

/** Seeds that `firstWhere` tries. */
const seedsTried = 60;

/**
 * The first answer, over seeds from 1 on, that is what a test needs. Texts of random weights may
 * differ between processors, so no test relies on what one seed gives.
 */
export async function firstWhere(
  api: Api,
  request: Body,
  isWanted: (answer: CompletionReply) => boolean,
): Promise<{ readonly request: Body; readonly answer: CompletionReply }> {
  for (let seed = 1; seed <= seedsTried; seed += 1) {
    const answer = await api.complete({ ...request, seed });
    if (isWanted(answer)) return { request: { ...request, seed }, answer };
  }
  throw new Error(`no seed up to ${seedsTried} gives an answer that this test needs`);
}
