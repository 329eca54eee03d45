/** Requests and entries of the routes beside completions: tokenize, detokenize, models. */
import { z } from "zod";
import { ApiError } from "./errors.ts";
import { fieldError } from "./field-errors.ts";
import type { Limits } from "./limits.ts";
import { requireObject } from "./parse-request.ts";
import { integer } from "./request-schema.ts";

const flag = (fallback: boolean) =>
  z
    .boolean()
    .nullish()
    .meta({ default: fallback })
    .transform((value) => value ?? fallback);

const model = z.string().nullish();

export const tokenizeRequestSchema = z.object({
  model,
  prompt: z.string().transform((text) => text.toWellFormed()),
  add_special_tokens: flag(true),
  return_token_strs: flag(false),
});

export const detokenizeRequestSchema = z.object({
  model,
  tokens: z.array(integer()),
});

export const modelSchema = z.object({
  id: z.string(),
  object: z.literal("model"),
  created: z.number().meta({ type: "integer" }),
  owned_by: z.string(),
  max_model_len: z.number().meta({ type: "integer", description: "Tokens of one sequence." }),
  limits: z.object({
    profile: z.string(),
    logprobs: z.number().meta({ type: "integer" }),
    stop: z.number().meta({ type: "integer" }),
    n: z.number().meta({ type: "integer" }),
    best_of: z.number().meta({ type: "integer" }),
    candidates: z.number().meta({ type: "integer", description: "Prompts times best_of." }),
    logit_bias: z.number().meta({ type: "integer" }),
  }),
});

export type ModelEntry = z.output<typeof modelSchema>;

/** The limits in force, as the models route shows them. */
export function describeLimits(limits: Limits): ModelEntry["limits"] {
  return {
    profile: limits.profile,
    logprobs: limits.logprobsMax,
    stop: limits.stopStringsMax,
    n: limits.nMax,
    best_of: limits.bestOfMax,
    candidates: limits.candidatesMax,
    logit_bias: limits.logitBiasEntriesMax,
  };
}

/** Checks the body of a side route. Throws an ApiError in the wording of the completions route. */
export function parseSideRequest<T extends z.ZodObject>(
  schema: T,
  body: unknown,
  limits: Limits,
): z.output<T> {
  const object = requireObject(body);
  const parsed = schema.safeParse(object);
  const issue = parsed.error?.issues[0];
  if (issue === undefined) return parsed.data as z.output<T>;
  const field = String(issue.path[0] ?? "");
  if (issue.path.length === 1 && object[field] === undefined) {
    throw new ApiError("missingParameter", { param: field });
  }
  throw fieldError(issue, object, limits);
}
