/** The answer to an example, and whether it is what the page shows. */
import { expect } from "vitest";
import type { CurlRequest } from "./curl.ts";

export interface Answer {
  readonly status: number;
  readonly contentType: string;
  readonly text: string;
}

export async function send(request: CurlRequest): Promise<Answer> {
  const { url, method, headers, body } = request;
  const response = await fetch(url, { method, headers, ...(body === undefined ? {} : { body }) });
  const contentType = response.headers.get("content-type") ?? "";
  return { status: response.status, contentType, text: await response.text() };
}

/** What was streamed, or the whole answer as the one element. Fails on what is neither. */
export function readAnswer(request: CurlRequest, answer: Answer): unknown[] {
  if (!isStream(request) || answer.status !== 200) {
    expect(answer.contentType).toBe("application/json");
    return [JSON.parse(answer.text)];
  }
  expect(answer.contentType).toBe("text/event-stream");
  const frames = answer.text.split("\n\n").filter((frame) => frame !== "" && frame !== ":");
  for (const frame of frames) expect(frame).toMatch(/^data: .+$/);
  expect(frames.at(-1)).toBe("data: [DONE]");
  return frames.slice(0, -1).map((frame) => JSON.parse(frame.slice("data: ".length)) as unknown);
}

const isStream = ({ body }: CurlRequest): boolean =>
  body !== undefined && (JSON.parse(body) as { stream?: unknown }).stream === true;

/** Errors are compared as they are; of other answers only keys and types, which is what is promised. */
export function expectShown(shown: unknown, answered: unknown): void {
  if (isObject(shown) && "error" in shown) expect(answered).toEqual(shown);
  else expect(shapeOf(answered)).toEqual(shapeOf(shown));
}

/** Types of all values by key; arrays by their elements' shapes, token maps as such. */
function shapeOf(value: unknown, key = ""): unknown {
  if (Array.isArray(value)) return value.map((item) => shapeOf(item, key));
  if (!isObject(value)) return value === null ? null : typeof value;
  if (key === "top_logprobs") return "map";
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, shapeOf(inner, name)]),
  );
}

/** The answer without what differs from one request to the next. */
export function repeatable(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(repeatable);
  if (!isObject(value)) return value;
  const varying = new Set(["id", "created", "cached_tokens"]);
  const kept = Object.entries(value).filter(([name]) => !varying.has(name));
  return Object.fromEntries(kept.map(([name, inner]) => [name, repeatable(inner)]));
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
