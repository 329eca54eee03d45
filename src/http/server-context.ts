/** What the routes of one server share. */
import type { Access } from "../access/access.ts";
import type { CompletionRun } from "../completion/completion-run.ts";
import type { CompletionModel } from "../completion/prompt-plan.ts";
import type { CompletionRequest } from "../contract/completion-request.ts";
import type { Caller } from "../engine/engine.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { Tracing } from "../observe/tracing.ts";
import type { ActiveRequests } from "./active-requests.ts";
import type { NamedModels } from "./permitted-models.ts";
import type { RequestBodies } from "./request-body.ts";
import type { ServerLog, ServerOptions } from "./server-options.ts";

/** Validates what needs the model and starts; fails with an ApiError. */
export type StartCompletion = (
  request: CompletionRequest,
  model: CompletionModel,
  signal: AbortSignal,
  caller: Caller,
) => Promise<CompletionRun>;

/** What GET /health says. More members may follow `status`. */
export interface Health {
  readonly status: "ok" | "loading" | "failed";
  readonly [detail: string]: unknown;
}

/** Whether the server is stopping: it finishes what it has and takes nothing new. */
export interface Closing {
  begun: boolean;
}

export interface ServerContext {
  readonly access: Access;
  readonly catalog: NamedModels;
  readonly options: ServerOptions;
  readonly startCompletion: StartCompletion;
  readonly health: () => Health;
  readonly log: ServerLog;
  readonly active: ActiveRequests;
  readonly bodies: RequestBodies;
  readonly closing: Closing;
  readonly metrics: Metrics;
  readonly tracing: Tracing;
}
