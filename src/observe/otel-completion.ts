/** The span of one completion, by the names that OpenTelemetry has for generative models. */
import {
  type Attributes,
  type Context,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
} from "@opentelemetry/api";
import type { Choice, Usage } from "../contract/responses.ts";
import type { CompletionTrace, TracedCompletion } from "./tracing.ts";

const operation = "text_completion";
/** Finish reasons of one span; a request may have thousands of choices. */
const finishReasonsMax = 128;

export function startCompletionSpan(
  tracer: Tracer,
  parent: Context,
  completion: TracedCompletion,
): Span {
  return tracer.startSpan(
    `${operation} ${completion.model}`,
    { kind: SpanKind.INTERNAL, attributes: requestAttributes(completion) },
    parent,
  );
}

/** Neither prompts nor texts: only what was asked of the model. */
function requestAttributes({ request, id, model, artifact }: TracedCompletion): Attributes {
  const choices = request.prompts.length * request.n;
  return {
    "gen_ai.operation.name": operation,
    "gen_ai.provider.name": "completionist",
    // The name that the provider had before; many tools still look for it.
    "gen_ai.system": "completionist",
    "gen_ai.request.model": model,
    "gen_ai.request.max_tokens": request.maxTokens,
    "gen_ai.request.temperature": request.temperature,
    "gen_ai.request.top_p": request.topP,
    "gen_ai.request.frequency_penalty": request.frequencyPenalty,
    "gen_ai.request.presence_penalty": request.presencePenalty,
    ...(request.extensions.topK > 0 ? { "gen_ai.request.top_k": request.extensions.topK } : {}),
    ...(request.stop.length > 0 ? { "gen_ai.request.stop_sequences": [...request.stop] } : {}),
    ...(request.seed === undefined ? {} : { "gen_ai.request.seed": request.seed }),
    ...(choices === 1 ? {} : { "gen_ai.request.choice.count": choices }),
    "gen_ai.request.stream": request.stream,
    "gen_ai.response.id": id,
    "gen_ai.response.model": artifact,
  };
}

export class OtelCompletion implements CompletionTrace {
  readonly #span: Span;
  readonly #finishReasons: string[] = [];
  #begun = false;
  #usage: Usage | undefined;

  constructor(span: Span) {
    this.#span = span;
  }

  admitted(): void {
    this.#span.addEvent("completionist.admitted");
  }

  choice({ index, text, finish_reason }: Choice, usage: Usage): void {
    this.#usage = usage;
    if (!this.#begun && text !== "") {
      this.#begun = true;
      this.#span.addEvent("completionist.first_token");
    }
    if (finish_reason !== null && index < finishReasonsMax) {
      this.#finishReasons[index] = finish_reason;
    }
  }

  used(usage: Usage): void {
    this.#usage = usage;
  }

  end(error?: string): void {
    if (this.#usage !== undefined) {
      const { prompt_tokens, completion_tokens, prompt_tokens_details } = this.#usage;
      this.#span.setAttributes({
        "gen_ai.usage.input_tokens": prompt_tokens,
        "gen_ai.usage.output_tokens": completion_tokens,
        "gen_ai.usage.cache_read.input_tokens": prompt_tokens_details.cached_tokens,
      });
    }
    // Choices that did not end leave no holes.
    const reasons = this.#finishReasons.filter((reason) => reason !== undefined);
    if (reasons.length > 0) this.#span.setAttribute("gen_ai.response.finish_reasons", reasons);
    if (error !== undefined) this.#span.setAttribute("error.type", error);
    // A client that left is no failure.
    if (error !== undefined && error !== "client_left") {
      this.#span.setStatus({ code: SpanStatusCode.ERROR });
    }
    this.#span.end();
  }
}
