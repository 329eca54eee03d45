/** What is wrong with an answer, whatever was asked; undefined when nothing is. */
import { gunzipSync } from "node:zlib";
import { errorSchema } from "../../src/contract/response-schema.ts";
import type { Answer } from "./answer-reader.ts";
import { completionProblem, streamProblem } from "./completion-verdict.ts";
import type { FuzzRequest } from "./fuzz-case.ts";

const requestId = /^req_[0-9a-f]{32}$/;

/** `request` is undefined for bytes that were none. */
export function answerProblem(
  answer: Answer,
  request: FuzzRequest | undefined,
): string | undefined {
  const { status, headers } = answer;
  if (status >= 500) return `status ${status}`;
  if (!requestId.test(headers.get("x-request-id") ?? "")) return "no x-request-id";
  if (request?.method === "HEAD") return undefined;
  const text = textOf(answer);
  if (text === undefined) return "the body is not in the encoding that it names";
  if (status >= 300) return errorProblem(answer, text);
  if (request?.method === "OPTIONS") return text === "" ? undefined : "OPTIONS with a body";
  if (headers.get("content-type") === "text/event-stream") return streamProblem(text, request);
  if (headers.get("content-type") !== "application/json") return "a 200 that is no JSON";
  const value = parse(text);
  if (typeof value !== "object" || value === null) return "a 200 whose body is no JSON object";
  if ("error" in value) return "a 200 with an error";
  const completes = request?.method === "POST" && /completions/.test(request.path);
  return completes ? completionProblem(value, request) : undefined;
}

/** Undefined where the body is not in the encoding that it names. */
export function textOf({ headers, body }: Answer): string | undefined {
  try {
    const bytes = headers.get("content-encoding") === "gzip" ? gunzipSync(body) : body;
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function errorProblem({ status, headers }: Answer, text: string): string | undefined {
  if (status < 400) return `status ${status}`;
  if (headers.get("content-type") !== "application/json") return `a ${status} that is no JSON`;
  const value = parse(text);
  const parsed = errorSchema.strict().safeParse(value);
  if (!parsed.success) return `a ${status} without the envelope`;
  const keys = Object.keys(parsed.data.error).join();
  if (keys !== "message,type,param,code") return `an envelope with ${keys}`;
  return parsed.data.error.message.length > 2000 ? "an error message that is too long" : undefined;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
