/**
 * The fields of a request, once: zod checks them, TypeScript takes its types from here, and so does
 * the OpenAPI document. A message given to a range is the name of a row of the error table, one given to a
 * type says what is expected.
 *
 * `prompt` and `logit_bias` are only described here and parsed by hand: a union over a long prompt
 * is slow and reports nothing of use, and a record would skip keys such as `__proto__`.
 */
import { z } from "zod";
import type { ErrorName } from "./errors.ts";
import type { Limits } from "./limits.ts";

const named = (error: ErrorName) => ({ error });

interface Range {
  readonly min?: number;
  readonly max?: number;
}

/** Any number with an integral value, also beyond 2^53 (zod's own `int` refuses 64-bit seeds). */
export function integer({ min, max }: Range = {}) {
  let schema = z
    .number({ error: "an integer" })
    .refine(Number.isInteger, { error: "an integer", abort: true });
  if (min !== undefined) schema = schema.min(min, named("integerBelowMin"));
  if (max !== undefined) schema = schema.max(max, named("integerAboveMax"));
  return schema.meta({ type: "integer" });
}

const anyDecimal = z.number({ error: "a decimal" });

const decimal = (min: number, max: number) =>
  anyDecimal.min(min, named("decimalBelowMin")).max(max, named("decimalAboveMax"));

/** Null and absence mean the default. */
function optional<T extends z.ZodType>(schema: T, fallback: z.output<T>, description: string) {
  return schema
    .nullish()
    .meta({ default: fallback, description })
    .transform((value): z.output<T> => value ?? fallback);
}

function absentable<T extends z.ZodType>(schema: T, description: string) {
  return schema
    .nullish()
    .meta({ description })
    .transform((value): z.output<T> | undefined => value ?? undefined);
}

/** Described by one schema, accepted as it comes: a parser of its own looks at it. */
function byHand(described: z.ZodType, description: string) {
  const { $schema: _, ...document } = z.toJSONSchema(described, { io: "input" });
  return z
    .unknown()
    .optional()
    .meta({ ...document, description });
}

const wellFormedText = z.string().transform((text) => text.toWellFormed());

const stopStrings = (max: number) =>
  z
    .union([z.string(), z.array(z.string()).meta({ maxItems: max })])
    .nullish()
    .meta({ description: "Texts that end a completion. They are not part of the text." })
    .transform((stop) => {
      const given = typeof stop === "string" ? [stop] : (stop ?? []);
      return given.map((text) => text.toWellFormed()).filter((text) => text !== "");
    })
    // Counted before equal texts fall together: five are too many, whatever they say.
    .pipe(
      z
        .array(z.string())
        .max(max, named("arrayAboveMaxLength"))
        .transform((texts) => [...new Set(texts)]),
    );

const promptDescription = z.union([
  z.string(),
  z.array(z.string()).min(1),
  z.array(integer({ min: 0 })).min(1),
  z.array(z.array(integer({ min: 0 })).min(1)).min(1),
  z.null(),
]);

const streamOptions = z.object({
  include_usage: optional(z.boolean(), false, "Send a last chunk with the usage of the request."),
  include_obfuscation: optional(z.boolean(), false, "Pad chunks so that their sizes even out."),
  continuous_usage_stats: optional(z.boolean(), false, "Put the usage so far on every chunk."),
});

/** 64 bits with a sign: the double that the largest such number is read as. */
const seedMagnitudeMax = 2 ** 63;

/** Fields of OpenAI's contract. */
const contractFields = (limits: Limits) => ({
  model: absentable(z.string(), "Which model answers; the server's default model when absent."),
  prompt: byHand(
    promptDescription,
    "What to complete: text, texts, token ids, or lists of token ids. Null, absence, an empty " +
      "text and <|endoftext|> mean the start of a document.",
  ),
  suffix: absentable(wellFormedText, "The text that comes after the inserted completion."),
  max_tokens: optional(integer({ min: 0 }), 16, "Tokens to generate at most."),
  n: optional(integer({ min: 1, max: limits.nMax }), 1, "Choices returned for each prompt."),
  best_of: absentable(
    integer({ min: 0, max: limits.bestOfMax }),
    "Candidates generated for each prompt, of which the n with the highest logprob per token " +
      "are returned. 0 means n.",
  ),
  echo: optional(z.boolean(), false, "Put the prompt in front of the text."),
  logprobs: absentable(
    integer({ min: 0, max: limits.logprobsMax }),
    "Return the logprob of every token and of this many alternatives.",
  ),
  temperature: optional(decimal(0, 2), 1, "0 always takes the likeliest token."),
  top_p: optional(decimal(0, 1), 1, "Draw from the likeliest tokens with this total probability."),
  frequency_penalty: optional(decimal(-2, 2), 0, "Per earlier occurrence of a generated token."),
  presence_penalty: optional(decimal(-2, 2), 0, "Once for every token generated before."),
  logit_bias: byHand(
    z.record(z.string(), z.number().min(-100).max(100)).nullable(),
    "Token id to a number that is added to its logit.",
  ),
  seed: absentable(
    integer({ min: -seedMagnitudeMax, max: seedMagnitudeMax }),
    "Same seed, same draws. A negative one counts as absent.",
  ),
  stop: stopStrings(limits.stopStringsMax),
  stream: optional(z.boolean(), false, "Answer with server-sent events."),
  stream_options: absentable(streamOptions, "Only with stream: true."),
  user: absentable(z.string(), "A name for the end user."),
});

/** Fields outside OpenAI's contract that clients send. */
const extensionFields = (limits: Limits) => ({
  top_k: optional(integer({ min: -1 }), -1, "Draw from this many tokens; 0 and -1: from all."),
  min_p: optional(decimal(0, 1), 0, "Leave out tokens less likely than this share of the best."),
  repetition_penalty: optional(
    anyDecimal.gt(0, named("decimalNotAboveMin")).max(10, named("decimalAboveMax")),
    1,
    "Divides the logits of tokens in prompt and completion; 1 is off.",
  ),
  ignore_eos: optional(z.boolean(), false, "Go on after an end-of-text token."),
  min_tokens: optional(integer({ min: 0 }), 0, "Neither end nor stop before this many tokens."),
  stop_token_ids: optional(
    z.array(integer({ min: 0 })).max(limits.stopTokensMax, named("arrayAboveMaxLength")),
    [],
    "Token ids that end a completion.",
  ),
  include_stop_str_in_output: optional(z.boolean(), false, "Keep the matched stop text."),
  skip_special_tokens: optional(z.boolean(), true, "Leave special tokens out of the text."),
});

function build(limits: Limits) {
  return z.object({ ...contractFields(limits), ...extensionFields(limits) });
}

export type CompletionRequestSchema = ReturnType<typeof build>;
export type RequestFields = z.output<CompletionRequestSchema>;

const schemas = new WeakMap<Limits, CompletionRequestSchema>();

/** The schema for a set of limits; built once for each. */
export function completionRequestSchema(limits: Limits): CompletionRequestSchema {
  const known = schemas.get(limits) ?? build(limits);
  schemas.set(limits, known);
  return known;
}

export const streamOptionNames: ReadonlySet<string> = new Set(Object.keys(streamOptions.shape));
