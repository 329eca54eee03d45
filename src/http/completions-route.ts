/** POST /v1/completions: one request from its body to a response or a stream. */
import type { OutgoingHttpHeaders } from "node:http";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { CompletionRun } from "../completion/completion-run.ts";
import type { CompletionRequest } from "../contract/completion-request.ts";
import { ApiError } from "../contract/errors.ts";
import { parseCompletionRequest, readModelName } from "../contract/parse-request.ts";
import { writeResponse } from "../contract/write-json.ts";
import type { Engine } from "../engine/engine.ts";
import { unlessAborted } from "../engine/unless-aborted.ts";
import type { ServedModel } from "../models/catalog.ts";
import { useModel } from "../models/model-lease.ts";
import { type ActiveRequest, ClientLeft } from "./active-requests.ts";
import { callerOf, principalOf } from "./caller.ts";
import { ChunkWriter, type Envelope } from "./chunk-writer.ts";
import { type CompletionAccount, openAccount } from "./completion-account.ts";
import { CompletionWatch } from "./completion-watch.ts";
import { logUnexpected, toApiError } from "./error-reply.ts";
import { EventStream } from "./event-stream.ts";
import { endedEarly, foldParts } from "./fold-parts.ts";
import { newCompletionId } from "./identifiers.ts";
import { readJsonBody } from "./json-body.ts";
import { permittedModels } from "./permitted-models.ts";
import { traceOf } from "./request-trace.ts";
import { finishHeaders, headerText, ignoredHeader, seenMs, sendJson } from "./response-headers.ts";
import type { ServerContext } from "./server-context.ts";
import { whileWanted } from "./while-wanted.ts";

/** `modelInPath` is the model of /v1/engines/{id}/completions and wins over the body's. */
export async function answerCompletion(
  context: ServerContext,
  http: FastifyRequest,
  reply: FastifyReply,
  modelInPath?: string,
): Promise<unknown> {
  return whileWanted(context, http, reply, async (signal, active) => {
    const call = readCall(context, http, reply, modelInPath);
    // The model stays in memory until the run has ended, however it ends.
    return await useModel(call.model, signal, async (engine) => {
      const started = await startRun({ context, http, reply, ...call, engine, active });
      const account = await openAccountOf(started);
      try {
        return await answer({ ...started, account, signal });
      } catch (error) {
        await account.fail(signal.aborted ? signal.reason : error);
        throw error;
      }
    });
  });
}

async function answer(admitted: Admitted): Promise<FastifyReply> {
  const watch = watchOf(admitted);
  const exchange = { ...admitted, watch };
  try {
    return await (admitted.request.stream ? stream(exchange) : respond(exchange));
  } catch (error) {
    watch.failed(error);
    throw error;
  } finally {
    watch.end();
  }
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
  const model = permittedModels(context.catalog, principalOf(http)).resolve(name);
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
  readonly active: ActiveRequest;
}

/** A request that fits its model; nothing is computed yet. */
interface Started extends LoadedCall {
  readonly run: CompletionRun;
  readonly envelope: Envelope;
}

/** One whose key may use what it asks for. */
interface Admitted extends Started {
  readonly account: CompletionAccount;
  readonly signal: AbortSignal;
}

/** Everything about one request that is under way. */
interface Exchange extends Admitted {
  readonly watch: CompletionWatch;
}

async function startRun(call: LoadedCall): Promise<Started> {
  const { context, http, reply, name, model, request, engine, active } = call;
  const { signal } = active;
  const leased = { engine, insertion: model.insertion };
  const starting = context.startCompletion(request, leased, signal, callerOf(http));
  const run = await unlessAborted(starting, signal);
  reply.header("openai-model", headerText(run.artifact));
  const envelope: Envelope = {
    id: newCompletionId(),
    created: Math.floor(Date.now() / 1000),
    model: name ?? model.id,
    system_fingerprint: run.fingerprint,
  };
  return { ...call, run, envelope };
}

async function openAccountOf(started: Started): Promise<CompletionAccount> {
  const { context, http, reply, request, run, envelope, model, active } = started;
  const { access, log, metrics } = context;
  try {
    const account = await openAccount({
      ...{ access, log, run, requestId: http.id, completionId: envelope.id, model: model.id },
      principal: principalOf(http),
      user: request.user,
      seenMs: seenMs(http),
      onRevoked: (reason) => active.abort(reason),
      onSettled: (outcome) => metrics.completions.ended(model.id, outcome),
    });
    reply.headers(account.headers);
    return account;
  } catch (error) {
    const refused = error instanceof ApiError ? error.errorName : undefined;
    if (refused === "quota") metrics.access.refused("quota");
    if (refused === "rateLimit" || refused === "requestOverLimit")
      metrics.access.refused((error as ApiError).type);
    throw error;
  }
}

function watchOf({ context, http, request, run, envelope, model }: Admitted): CompletionWatch {
  return new CompletionWatch({
    ...{ context, http, request, id: envelope.id, model: model.id },
    askedModel: envelope.model,
    artifact: run.artifact,
  });
}

async function respond(exchange: Exchange): Promise<FastifyReply> {
  const { reply, run, envelope, watch, account } = exchange;
  const { choices, usage } = await foldParts(run.parts, (part) => {
    watch.part(part);
    account.part(part);
  });
  const body = writeResponse({ ...envelope, object: "text_completion", choices, usage });
  // Durable before the client has anything: an answer that arrived is in the ledger.
  await account.complete();
  return sendJson(reply, body);
}

/** Until the run is admitted a failure is an HTTP error; afterwards it is a frame. */
async function stream(exchange: Exchange): Promise<FastifyReply> {
  const { reply, request, run, envelope, watch, account, signal } = exchange;
  const writer = new ChunkWriter(envelope, request.streamOptions);
  let events: EventStream | undefined;
  let complete = false;
  try {
    for await (const part of run.parts) {
      watch.part(part);
      account.part(part);
      events ??= openStream(exchange);
      const chunk = writer.write(part);
      // What was generated before an end that came from outside is counted, but no longer sent.
      if (chunk !== undefined && !signal.aborted) await events.send(chunk);
      complete = part.kind === "usage";
    }
    if (!complete) throw endedEarly();
    signal.throwIfAborted();
    await account.complete();
  } catch (error) {
    if (events === undefined) throw error;
    await failStream(exchange, events, error);
  }
  await events?.done();
  return reply;
}

function openStream({ context, reply, signal }: Exchange): EventStream {
  reply.hijack();
  finishHeaders(reply);
  reply.headers({
    "content-type": "text/event-stream",
    // Proxies such as nginx would collect frames otherwise.
    "x-accel-buffering": "no",
  });
  const headers = reply.getHeaders() as OutgoingHttpHeaders;
  return new EventStream(reply.raw, headers, { ...context.options, signal });
}

/** An error frame instead of a finish reason, so that a cut text never looks complete. */
async function failStream(exchange: Exchange, events: EventStream, thrown: unknown): Promise<void> {
  const { context, http, signal, watch, account } = exchange;
  const cause: unknown = signal.aborted ? signal.reason : thrown;
  watch.failed(cause);
  await account.fail(cause);
  if (signal.reason instanceof ClientLeft) return;
  const error = toApiError(cause, context.options.bodyBytesMax);
  logUnexpected(error, http.id, context.log);
  context.metrics.requests.error(error.errorName);
  traceOf(http).failed(error.errorName ?? "server");
  await events.send(JSON.stringify(error.body()));
}
