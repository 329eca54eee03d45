/** All that listens to a completion on its way: metrics, traces and, where asked for, the log. */
import type { FastifyRequest } from "fastify";
import type { CompletionPart } from "../completion/completion-run.ts";
import type { CompletionRequest } from "../contract/completion-request.ts";
import { ApiError } from "../contract/errors.ts";
import type { CompletionMeter } from "../observe/completion-metrics.ts";
import { TextLog } from "../observe/text-log.ts";
import type { CompletionTrace } from "../observe/tracing.ts";
import { ClientLeft } from "./active-requests.ts";
import { meterPart } from "./metrics-route.ts";
import { traceOf } from "./request-trace.ts";
import { seenMs } from "./response-headers.ts";
import type { ServerContext } from "./server-context.ts";

export interface WatchedCompletion {
  readonly context: ServerContext;
  readonly http: FastifyRequest;
  readonly request: CompletionRequest;
  /** `cmpl-...`. */
  readonly id: string;
  /** Id of the model that answers, no alias. */
  readonly model: string;
  /** As the client named it, or that id. */
  readonly askedModel: string;
  readonly artifact: string;
}

export class CompletionWatch {
  readonly #meter: CompletionMeter;
  readonly #trace: CompletionTrace;
  readonly #textLog: TextLog | undefined;
  #error: string | undefined;

  constructor({ context, http, request, id, model, askedModel, artifact }: WatchedCompletion) {
    this.#meter = context.metrics.completions.begin(model, seenMs(http));
    this.#trace = traceOf(http).completion({ request, id, model: askedModel, artifact });
    if (context.options.logPrompts) {
      this.#textLog = new TextLog(context.log, { requestId: http.id, completionId: id });
      this.#textLog.prompts(request);
    }
  }

  part(part: CompletionPart): void {
    meterPart(this.#meter, part);
    if (part.kind === "admitted") this.#trace.admitted();
    else if (part.kind === "usage") this.#trace.used(part.usage);
    else {
      this.#trace.choice(part.choice, part.usage);
      this.#textLog?.choice(part.choice);
    }
  }

  /** What ended the completion early. */
  failed(thrown: unknown): void {
    this.#error ??= failureName(thrown);
  }

  /** Called once, however it ended. */
  end(): void {
    this.#meter.end();
    this.#trace.end(this.#error);
    this.#textLog?.end();
  }
}

function failureName(thrown: unknown): string {
  if (thrown instanceof ClientLeft) return "client_left";
  return (thrown instanceof ApiError ? thrown.errorName : undefined) ?? "server";
}
