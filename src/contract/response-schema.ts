/** What the server sends, described for the OpenAPI document. The types are in responses.ts. */
import { z } from "zod";
import type { Choice, CompletionChunk, CompletionResponse, ErrorBody, Usage } from "./responses.ts";

const count = () => z.number().meta({ type: "integer", minimum: 0 });

const usage = z.object({
  prompt_tokens: count(),
  completion_tokens: count(),
  total_tokens: count(),
  prompt_tokens_details: z.object({ cached_tokens: count() }),
  completion_tokens_details: z.object({ reasoning_tokens: count() }),
}) satisfies z.ZodType<Usage>;

/** On the wire `top_logprobs` holds maps; inside the server they are lists of pairs. */
const logprobs = z.object({
  tokens: z.array(z.string()),
  token_logprobs: z.array(z.number().nullable()),
  top_logprobs: z.array(z.record(z.string(), z.number()).nullable()),
  text_offset: z.array(count()).meta({ description: "Code points from the start of the prompt." }),
});

const choice = z.object({
  text: z.string(),
  index: count(),
  logprobs: logprobs.nullable(),
  finish_reason: z.enum(["stop", "length", "content_filter"]).nullable(),
}) satisfies z.ZodType<Wire<Choice>>;

const common = {
  id: z.string(),
  object: z.literal("text_completion"),
  created: count().meta({ type: "integer", description: "Unix time in seconds." }),
  choices: z.array(choice),
  model: z.string(),
  system_fingerprint: z.string(),
};

type Wire<T> = T extends { logprobs: unknown }
  ? Omit<T, "logprobs"> & { logprobs: z.output<typeof logprobs> | null }
  : T;

type WithWireChoices<T> = Omit<T, "choices"> & { choices: Wire<Choice>[] };

export const completionResponseSchema = z.object({
  ...common,
  usage,
}) satisfies z.ZodType<WithWireChoices<CompletionResponse>>;

export const completionChunkSchema = z.object({
  ...common,
  usage: usage.nullable().exactOptional(),
  obfuscation: z.string().exactOptional(),
}) satisfies z.ZodType<WithWireChoices<CompletionChunk>>;

export const errorSchema = z.object({
  error: z.object({
    message: z.string(),
    type: z.string(),
    param: z.string().nullable(),
    code: z.string().nullable(),
  }),
}) satisfies z.ZodType<ErrorBody>;
