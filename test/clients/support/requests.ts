/**
 * The server's answers as plain HTTP and JSON, for clients that are no npm packages: each test
 * sends what such a client sends and reads the answer by that client's rule.
 */
import { expect, inject } from "vitest";
import type { WireChoice, WireLogprobs, WireUsage } from "../../support/wire.ts";

export const modelName = "SmolLM2-135M-Instruct";

export type { WireChoice, WireLogprobs, WireUsage };

/** A body, or a chunk of a stream. */
export interface WireAnswer {
  readonly id: string;
  readonly object: string;
  readonly created: number;
  readonly model: string;
  readonly choices: readonly WireChoice[];
  readonly usage?: WireUsage | null;
}

/** Throws what kept the shared server from starting. */
export function sharedServerUrl(): string {
  const server = inject("sharedServer");
  if ("failure" in server) throw new Error(`there is no shared server: ${server.failure}`);
  return server.url;
}

/** POST with a JSON body. */
export function post(
  path: string,
  body: object,
  {
    url = sharedServerUrl(),
    headers = {},
  }: { url?: string; headers?: Readonly<Record<string, string>> } = {},
): Promise<Response> {
  return fetch(url + path, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
}

/** The answer to a request that must succeed. `url`: another server than the shared one. */
export async function complete(body: object, url = sharedServerUrl()): Promise<WireAnswer> {
  const response = await post("/v1/completions", body, { url });
  const text = await response.text();
  expect(response.status, text).toBe(200);
  return JSON.parse(text) as WireAnswer;
}

/** The whole text of a stream. */
export async function streamText(body: object, url = sharedServerUrl()): Promise<string> {
  const response = await post("/v1/completions", { ...body, stream: true }, { url });
  const text = await response.text();
  expect(response.status, text).toBe(200);
  return text;
}

/** The chunks of a stream that was read to its end. */
export function chunksOf(text: string): WireAnswer[] {
  const frames = text.split("\n\n").filter((frame) => frame.startsWith("data: "));
  expect(frames.pop()).toBe("data: [DONE]");
  return frames.map((frame) => JSON.parse(frame.slice("data: ".length)) as WireAnswer);
}

/** The only choice. */
export function onlyChoice({ choices }: WireAnswer): WireChoice {
  expect(choices).toHaveLength(1);
  return choices[0] as WireChoice;
}

/** The logprobs of a choice that must have them. */
export function logprobsOf(choice: WireChoice | undefined): WireLogprobs {
  expect(choice?.logprobs).not.toBeNull();
  return choice?.logprobs as WireLogprobs;
}

/** Token ids of a text. */
export async function tokenize(text: string, url = sharedServerUrl()): Promise<number[]> {
  const response = await post("/tokenize", { prompt: text, add_special_tokens: false }, { url });
  expect(response.status).toBe(200);
  return ((await response.json()) as { tokens: number[] }).tokens;
}

export const sum = (values: readonly number[]): number =>
  values.reduce((total, value) => total + value, 0);

/** Length as Python's `len` counts it. */
export const codePoints = (text: string): number => [...text].length;
