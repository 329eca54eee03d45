/** Completions of a server elsewhere: any that speaks the OpenAI completions API. */
import { ApiError } from "../contract/errors.ts";
import type { Call, CompletionSource } from "./completion-source.ts";
import { ChunkFolder } from "./fold-chunks.ts";
import { isObject, type JsonObject, readJson } from "./json.ts";
import { readEvents, readText } from "./remote-body.ts";
import { isExpected, upstreamFailed } from "./tool-error.ts";
import { modelNames } from "./tools.ts";

export interface RemoteSourceOptions {
  /** Where its routes are, with the `/v1` that most have. */
  readonly baseUrl: string;
  readonly apiKey: string | undefined;
  /** A name of ours that means the first model the server lists. */
  readonly defaultAlias: string;
}

export function remoteSource(options: RemoteSourceOptions): CompletionSource {
  const server = new RemoteServer(options);
  return {
    isRemote: true,
    complete: (body, call) => server.complete(body, call),
    listModels: ({ signal }) => server.listModels(signal),
    close: async () => undefined,
  };
}

class RemoteServer {
  readonly #options: RemoteSourceOptions;

  constructor(options: RemoteSourceOptions) {
    this.#options = options;
  }

  async complete(body: JsonObject, call: Call): Promise<JsonObject> {
    const request = { ...body, model: await this.#modelName(body.model, call.signal) };
    return call.progress.wanted && canStream(request)
      ? this.#streamed(request, call)
      : this.#whole("completions", request, call.signal);
  }

  listModels(signal: AbortSignal): Promise<JsonObject> {
    return this.#whole("models", undefined, signal);
  }

  /** Only a stream tells how far a completion is. */
  async #streamed(request: JsonObject, { signal, progress }: Call): Promise<JsonObject> {
    const options = isObject(request.stream_options) ? request.stream_options : {};
    const stream = { stream: true, stream_options: { ...options, include_usage: true } };
    const response = await this.#send("completions", { ...request, ...stream }, signal);
    if (!/\bevent-stream\b/.test(response.headers.get("content-type") ?? "")) {
      return answerOf(response, await readText(response));
    }
    const total = tokensMax(request);
    const folder = new ChunkFolder();
    progress.report(0, total);
    for await (const data of readEvents(response)) {
      if (data === "[DONE]") break;
      const chunk = readJson(data);
      if (!isObject(chunk)) throw upstreamFailed("a part of its stream is no JSON object");
      if (isObject(chunk.error)) throw errorOf(chunk.error, 500);
      folder.add(chunk);
      progress.report(folder.parts, total);
    }
    return folder.whole();
  }

  async #whole(
    route: string,
    request: JsonObject | undefined,
    signal: AbortSignal,
  ): Promise<JsonObject> {
    const response = await this.#send(route, request, signal);
    return answerOf(response, await readText(response));
  }

  async #send(
    route: string,
    request: JsonObject | undefined,
    signal: AbortSignal,
  ): Promise<Response> {
    const { baseUrl, apiKey } = this.#options;
    const authorization = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
    const parts =
      request === undefined
        ? { method: "GET", headers: authorization }
        : {
            method: "POST",
            headers: { ...authorization, "content-type": "application/json" },
            body: JSON.stringify(request),
          };
    try {
      const response = await fetch(`${baseUrl}/${route}`, { ...parts, signal });
      if (response.ok) return response;
      throw refusal(response.status, await readText(response));
    } catch (error) {
      if (signal.aborted || isExpected(error)) throw error;
      throw upstreamFailed(`${baseUrl} cannot be reached (${reasonOf(error)})`);
    }
  }

  async #modelName(name: unknown, signal: AbortSignal): Promise<unknown> {
    if (name !== undefined && name !== this.#options.defaultAlias) return name;
    const names = modelNames(await this.listModels(signal));
    const [first] = names;
    if (first === undefined) throw upstreamFailed("it lists no model");
    return name !== undefined && names.includes(String(name)) ? name : first;
  }
}

/** What a completion may be at most, where the request says so. */
function tokensMax({ max_tokens, n, prompt }: JsonObject): number {
  const prompts = Array.isArray(prompt) && typeof prompt[0] !== "number" ? prompt.length : 1;
  return Number(max_tokens ?? 16) * Number(n ?? 1) * prompts;
}

/** Servers rank candidates when all have ended, which no stream can tell. */
const canStream = ({ best_of, n }: JsonObject): boolean => Number(best_of ?? 1) <= Number(n ?? 1);

function answerOf(response: Response, text: string): JsonObject {
  const answer = readJson(text);
  if (!isObject(answer)) throw upstreamFailed(`its answer (${response.status}) is no JSON object`);
  return answer;
}

function refusal(status: number, text: string): Error {
  const answer = readJson(text);
  const error = isObject(answer) ? answer.error : undefined;
  if (isObject(error)) return errorOf(error, status);
  return upstreamFailed(`it answered ${status} without an error of the API`);
}

/** The other server's error, in the four fields that ours have. */
function errorOf(error: JsonObject, status: number): ApiError {
  const text = (value: unknown) =>
    value === undefined || value === null ? null : String(value).slice(0, errorTextMax);
  return new ApiError({
    status,
    message: text(error.message) ?? `The server answered ${status}.`,
    type: text(error.type) ?? "server_error",
    param: text(error.param),
    code: text(error.code),
  });
}

/** Characters of another server's error that are passed on. */
const errorTextMax = 2000;

function reasonOf(error: unknown): string {
  const cause = (error as { readonly cause?: unknown }).cause ?? error;
  const { code, message } = cause as { readonly code?: unknown; readonly message?: unknown };
  return String(code ?? message ?? cause);
}
