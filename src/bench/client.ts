/**
 * Requests as a client sends them, with as little work as can be: on few cores the client takes
 * its time from the servers that it measures.
 */
import { type ClientRequest, type IncomingMessage, request } from "node:http";
import { BenchError } from "./bench-error.ts";

export interface Streamed {
  /** All times by `performance.now()`. */
  readonly startMs: number;
  /** Of each piece of text. */
  readonly timesMs: readonly number[];
  /** By the answer's own usage; 0 where the client left before its end. */
  readonly tokens: number;
}

export interface StreamOptions {
  /** Ends everything: the promise rejects. */
  readonly signal: AbortSignal;
  /** Makes this client leave: the promise resolves with what came. */
  readonly leave?: AbortSignal;
  /** Called after each piece of text with their number so far. */
  readonly onPiece?: (pieces: number) => void;
}

/** Parts of a request that make both servers do the same: the likeliest token, to the full length. */
export const greedy = { temperature: 0, ignore_eos: true } as const;

export async function streamCompletion(
  url: string,
  body: object,
  options: StreamOptions,
): Promise<Streamed> {
  const streamed = { ...body, stream: true, stream_options: { include_usage: true } };
  const startMs = performance.now();
  const timesMs: number[] = [];
  const left = () => ({ startMs, timesMs, tokens: 0 });
  if (options.leave?.aborted) return left();
  const call = post(url, streamed, options.signal);
  const leave = () => call.destroy(new Error("left"));
  options.leave?.addEventListener("abort", leave, { once: true });
  try {
    const response = await responseOf(call);
    let tail = "";
    for await (const bytes of response as AsyncIterable<Buffer>) {
      const nowMs = performance.now();
      // One frame ends with an empty line; the last characters may belong to a line break.
      const text = tail.slice(-1) + bytes.toString("latin1");
      tail = (tail + text.slice(tail === "" ? 0 : 1)).slice(-4_000);
      for (let at = text.indexOf("\n\n"); at !== -1; at = text.indexOf("\n\n", at + 2)) {
        timesMs.push(nowMs);
      }
      options.onPiece?.(timesMs.length);
    }
    const usage = [...tail.matchAll(/"completion_tokens":\s*(\d+)/g)].at(-1)?.[1];
    if (usage === undefined) throw new BenchError("failed", `a stream ended early: ${tail}`);
    return { startMs, timesMs: withoutEnd(timesMs, tail), tokens: Number(usage) };
  } catch (error) {
    if (options.leave?.aborted && !options.signal.aborted) return left();
    throw error;
  } finally {
    options.leave?.removeEventListener("abort", leave);
  }
}

/** The frames at the end that bring no text: the reason, the usage, the mark of the end. */
function withoutEnd(timesMs: readonly number[], tail: string): readonly number[] {
  const frames = tail.split("\n\n").slice(0, -1);
  let empty = 0;
  for (const frame of frames.toReversed()) {
    if (/"text":\s*"[^"]/.test(frame)) break;
    empty += 1;
  }
  return timesMs.slice(0, Math.max(1, timesMs.length - empty));
}

export interface Answered {
  readonly elapsedMs: number;
  /** By the answer's usage. */
  readonly tokens: number;
}

/** A whole answer. */
export async function complete(url: string, body: object, signal: AbortSignal): Promise<Answered> {
  const startMs = performance.now();
  const response = await responseOf(post(url, body, signal));
  const text = await textOf(response);
  const elapsedMs = performance.now() - startMs;
  const { usage } = JSON.parse(text) as { readonly usage?: { completion_tokens?: number } };
  return { elapsedMs, tokens: usage?.completion_tokens ?? 0 };
}

/** JSON or text of another route; undefined where the server has none. */
export async function getText(url: string, signal: AbortSignal): Promise<string | undefined> {
  const response = await fetch(url, { signal });
  const text = await response.text();
  return response.ok ? text : undefined;
}

function post(url: string, body: object, signal: AbortSignal): ClientRequest {
  const text = JSON.stringify(body);
  const headers = {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(text),
  };
  const call = request(`${url}/v1/completions`, { method: "POST", agent: false, headers, signal });
  call.end(text);
  return call;
}

async function responseOf(call: ClientRequest): Promise<IncomingMessage> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    call.once("response", resolve);
    call.on("error", reject);
  });
  if (response.statusCode === 200) return response;
  const text = await textOf(response);
  throw new BenchError("failed", `the server answered ${response.statusCode}: ${text}`);
}

async function textOf(response: IncomingMessage): Promise<string> {
  response.setEncoding("utf8");
  let text = "";
  for await (const part of response as AsyncIterable<string>) text += part;
  return text;
}
