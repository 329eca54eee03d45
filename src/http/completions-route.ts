/** POST /v1/completions: one request from its body to a response or a stream. */
import type { OutgoingHttpHeaders } from "node:http";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { CompletionRun } from "../completion/completion-run.ts";
import type { CompletionRequest } from "../contract/completion-request.ts";
import { parseCompletionRequest, readModelName } from "../contract/parse-request.ts";
import { writeResponse } from "../contract/write-json.ts";
import type { Engine } from "../engine/engine.ts";
import type { ServedModel } from "../models/catalog.ts";
import { useModel } from "../models/model-lease.ts";
import { ClientLeft } from "./active-requests.ts";
import { callerOf } from "./caller.ts";
import { ChunkWriter, type Envelope } from "./chunk-writer.ts";
import { CompletionWatch } from "./completion-watch.ts";
import { logUnexpected, toApiError } from "./error-reply.ts";
import { EventStream } from "./event-stream.ts";
import { endedEarly, foldParts } from "./fold-parts.ts";
import { newCompletionId } from "./identifiers.ts";
import { readJsonBody } from "./json-body.ts";
import { traceOf } from "./request-trace.ts";
import { finishHeaders, headerText, ignoredHeader, sendJson } from "./response-headers.ts";
import type { ServerContext } from "./server-context.ts";
import { whileWanted } from "./while-wanted.ts";

/** Everything about one request that is under way. */
interface Exchange {
  readonly context: ServerContext;
  readonly http: FastifyRequest;
  readonly reply: FastifyReply;
  readonly request: CompletionRequest;
  readonly run: CompletionRun;
  readonly envelope: Envelope;
  readonly signal: AbortSignal;
  readonly watch: CompletionWatch;
}

/** `modelInPath` is the model of /v1/engines/{id}/completions and wins over the body's. */
export async function answerCompletion(
  context: ServerContext,
  http: FastifyRequest,
  reply: FastifyReply,
  modelInPath?: string,
): Promise<unknown> {
  return whileWanted(context.active, reply, async (signal) => {
    const call = readCall(context, http, reply, modelInPath);
    // The model stays in memory until the run has ended, however it ends.
    return await useModel(call.model, signal, async (engine) => {
      const exchange = await startExchange({ context, http, reply, ...call, engine, signal });
      try {
        return await (exchange.request.stream ? stream(exchange) : respond(exchange));
      } catch (error) {
        exchange.watch.failed(error);
        throw error;
      } finally {
        exchange.watch.end();
      }
    });
  });
}

/** What a request asks of which model. */
interface CompletionCall {
  /** As the client named it, if it did. */
  readonly name: string | undefined;
  readonly model: ServedModel;
  readonly request: CompletionRequest;
}

function readCall(
  context: ServerContext,
  http: FastifyRequest,
  reply: FastifyReply,
  modelInPath: string | undefined,
): CompletionCall {
  const body = readJsonBody(http);
  const name = modelInPath ?? readModelName(body);
  const model = context.catalog.resolve(name);
  const { limits, strict } = context.options;
  const parsed = parseCompletionRequest(body, { limits, strict });
  const request = { ...parsed, model: name };
  if (request.ignoredParameters.length > 0) {
    context.metrics.requests.ignored(request.ignoredParameters);
    reply.header("x-ignored-params", ignoredHeader(request.ignoredParameters));
  }
  return { name, model, request };
}

interface LoadedCall extends CompletionCall {
  readonly context: ServerContext;
  readonly http: FastifyRequest;
  readonly reply: FastifyReply;
  readonly engine: Engine;
  readonly signal: AbortSignal;
}

async function startExchange(call: LoadedCall): Promise<Exchange> {
  const { context, http, reply, name, model, request, engine, signal } = call;
  const leased = { engine, insertion: model.insertion };
  const run = await context.startCompletion(request, leased, signal, callerOf(http));
  reply.header("openai-model", headerText(run.artifact));
  const envelope: Envelope = {
    id: newCompletionId(),
    created: Math.floor(Date.now() / 1000),
    model: name ?? model.id,
    system_fingerprint: run.fingerprint,
  };
  const watch = new CompletionWatch({
    context,
    http,
    request,
    id: envelope.id,
    model: model.id,
    askedModel: envelope.model,
    artifact: run.artifact,
  });
  return { context, http, reply, request, run, envelope, signal, watch };
}

async function respond({ reply, run, envelope, watch }: Exchange): Promise<FastifyReply> {
  const { choices, usage } = await foldParts(run.parts, (part) => watch.part(part));
  const body = writeResponse({ ...envelope, object: "text_completion", choices, usage });
  return sendJson(reply, body);
}

/** Until the run is admitted a failure is an HTTP error; afterwards it is a frame. */
async function stream(exchange: Exchange): Promise<FastifyReply> {
  const { reply, request, run, envelope, watch } = exchange;
  const writer = new ChunkWriter(envelope, request.streamOptions);
  let events: EventStream | undefined;
  let complete = false;
  try {
    for await (const part of run.parts) {
      watch.part(part);
      events ??= openStream(exchange);
      const chunk = writer.write(part);
      if (chunk !== undefined) await events.send(chunk);
      complete = part.kind === "usage";
    }
    if (!complete) throw endedEarly();
  } catch (error) {
    if (events === undefined) throw error;
    await failStream(exchange, events, error);
  }
  await events?.done();
  return reply;
}

function openStream({ context, reply }: Exchange): EventStream {
  reply.hijack();
  finishHeaders(reply);
  reply.headers({
    "content-type": "text/event-stream",
    // Proxies such as nginx would collect frames otherwise.
    "x-accel-buffering": "no",
  });
  const headers = reply.getHeaders() as OutgoingHttpHeaders;
  return new EventStream(reply.raw, headers, context.options);
}

/** An error frame instead of a finish reason, so that a cut text never looks complete. */
async function failStream(exchange: Exchange, events: EventStream, thrown: unknown): Promise<void> {
  const { context, http, signal, watch } = exchange;
  const cause: unknown = signal.aborted ? signal.reason : thrown;
  watch.failed(cause);
  if (signal.reason instanceof ClientLeft) return;
  const error = toApiError(cause, context.options.bodyBytesMax);
  logUnexpected(error, http.id, context.log);
  context.metrics.requests.error(error.errorName);
  traceOf(http).failed(error.errorName ?? "server");
  await events.send(JSON.stringify(error.body()));
}
