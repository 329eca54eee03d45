/** Completions from an engine of our own, by the same path as those of the HTTP API. */
import type { Access, Principal } from "../access/access.ts";
import { startCompletion } from "../completion/complete.ts";
import type { CompletionPart } from "../completion/completion-run.ts";
import type { CompletionRequest } from "../contract/completion-request.ts";
import { ApiError } from "../contract/errors.ts";
import { limitsProfiles } from "../contract/limits.ts";
import { parseCompletionRequest, readModelName } from "../contract/parse-request.ts";
import { writeResponse } from "../contract/write-json.ts";
import { unlessAborted } from "../engine/unless-aborted.ts";
import { openAccount } from "../http/completion-account.ts";
import { foldParts } from "../http/fold-parts.ts";
import { newCompletionId } from "../http/identifiers.ts";
import { listModels } from "../http/models-route.ts";
import { permittedModels } from "../http/permitted-models.ts";
import type { ServerLog } from "../http/server-options.ts";
import type { ModelCatalog } from "../models/catalog.ts";
import { useModel } from "../models/model-lease.ts";
import type { Call, CompletionSource } from "./completion-source.ts";
import type { JsonObject } from "./json.ts";

export interface LocalModels {
  readonly catalog: ModelCatalog;
  /** Where calls are accounted for. */
  readonly access: Access;
  readonly log: ServerLog;
  /** Refuse unknown fields instead of ignoring them. */
  readonly strict: boolean;
  close(): Promise<void>;
}

/** The published schema knows these limits and no others. */
const limits = limitsProfiles.openai;

/**
 * `opened` may take its time (a model that is being fetched): calls wait for it, and fail with
 * `modelFailed` when it does.
 */
export function localSource(opened: Promise<LocalModels>): CompletionSource {
  const models = opened.catch((error: unknown) => {
    if (error instanceof ApiError) throw error;
    const reason = (error instanceof Error ? error.message : String(error)).replace(/\.$/, "");
    throw new ApiError("modelFailed", { reason }, { cause: error });
  });
  models.catch(() => undefined); // told to those who call
  return {
    isRemote: false,
    complete: async (body, call) => complete(await unlessAborted(models, call.signal), body, call),
    listModels: async ({ signal, principal }) =>
      list(await unlessAborted(models, signal), principal),
    close: async () => {
      const running = await opened.catch(() => undefined);
      await running?.close();
    },
  };
}

async function complete(
  { catalog, access, log, strict }: LocalModels,
  body: JsonObject,
  call: Call,
): Promise<JsonObject> {
  const name = readModelName(body);
  const { principal } = call;
  const seenMs = performance.now();
  const model = permittedModels(catalog, principal).resolve(name);
  const request = parseCompletionRequest(body, { limits, strict });
  const id = newCompletionId();
  const caller = { owner: principal.owner, request: id, priority: "interactive" } as const;
  const { fingerprint, choices, usage } = await useModel(model, call.signal, async (engine) => {
    const leased = { engine, insertion: model.insertion };
    const ended = new AbortController();
    const signal = AbortSignal.any([call.signal, ended.signal]);
    const run = await startCompletion({ ...request, model: name }, leased, signal, caller);
    const account = await openAccount({
      ...{ access, log, principal, run, seenMs, user: request.user, model: model.id },
      ...{ requestId: id, completionId: id },
      onRevoked: (reason) => ended.abort(reason),
      onSettled: () => undefined,
    });
    try {
      const parts = reported(run.parts, request, call);
      const folded = await foldParts(parts, (part) => account.part(part));
      await account.complete();
      return { fingerprint: run.fingerprint, ...folded };
    } catch (error) {
      const isCancelled = call.signal.aborted && !(call.signal.reason instanceof ApiError);
      await account.fail(signal.aborted ? signal.reason : error, isCancelled);
      throw ended.signal.aborted ? ended.signal.reason : error;
    }
  });
  const response = writeResponse({
    id,
    object: "text_completion",
    created: Math.floor(Date.now() / 1000),
    model: name ?? model.id,
    choices,
    usage,
    system_fingerprint: fingerprint,
  });
  return JSON.parse(response) as JsonObject;
}

async function* reported(
  parts: AsyncIterable<CompletionPart>,
  request: CompletionRequest,
  { progress }: Call,
): AsyncGenerator<CompletionPart> {
  const total = request.prompts.length * request.bestOf * request.maxTokens;
  for await (const part of parts) {
    if (part.kind === "admitted") progress.report(0, total);
    if (part.kind === "choice") progress.report(part.usage.completion_tokens, total);
    yield part;
  }
}

function list({ catalog }: LocalModels, principal: Principal): JsonObject {
  const seen = { catalog: permittedModels(catalog, principal), options: { limits } };
  return { ...listModels(seen) };
}
