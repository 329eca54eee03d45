/** Whether the answer to a completion is whole and its counts agree, with each other and the body. */
import {
  completionChunkSchema,
  completionResponseSchema,
} from "../../src/contract/response-schema.ts";
import {
  joinChoices,
  type WireChoice,
  type WireLogprobs,
  type WireUsage,
} from "../support/wire.ts";
import type { FuzzRequest } from "./fuzz-case.ts";

export function completionProblem(value: unknown, request: FuzzRequest): string | undefined {
  const parsed = completionResponseSchema.strict().safeParse(value);
  if (!parsed.success) return `not the schema's: ${parsed.error.issues[0]?.message}`;
  const { choices, usage } = parsed.data;
  return choicesProblem(choices, request) ?? usageProblem(choices, usage, request);
}

export function streamProblem(text: string, request: FuzzRequest | undefined): string | undefined {
  if (request === undefined) return "a stream that nobody asked for";
  if (!text.endsWith("\n\n")) return "a stream that ends within a frame";
  const frames = text
    .split("\n\n")
    .slice(0, -1)
    .filter((frame) => frame !== ":");
  if (frames.pop() !== "data: [DONE]") return "a stream without its end";
  const whole = new Map<number, WireChoice>();
  let usage: WireUsage | undefined;
  for (const frame of frames) {
    if (!frame.startsWith("data: {") || frame.includes("\n")) return "a frame that is no data line";
    const value: unknown = JSON.parse(frame.slice("data: ".length));
    const parsed = completionChunkSchema.strict().safeParse(value);
    if (!parsed.success) return `a chunk that is not the schema's: ${frame.slice(0, 300)}`;
    for (const choice of parsed.data.choices) {
      const known = whole.get(choice.index);
      if (known !== undefined && known.finish_reason !== null)
        return "a choice goes on after its end";
      whole.set(choice.index, known === undefined ? choice : joinChoices(known, choice));
    }
    usage = parsed.data.usage ?? undefined;
  }
  const choices = [...whole.values()].sort((left, right) => left.index - right.index);
  const problem = choicesProblem(choices, request);
  return problem ?? (usage && usageProblem(choices, usage, request));
}

function choicesProblem(choices: readonly WireChoice[], request: FuzzRequest): string | undefined {
  const { count } = wanted(request);
  if (choices.length !== count) return `${choices.length} choices instead of ${count}`;
  for (const [index, choice] of choices.entries()) {
    if (choice.index !== index) return `choice ${choice.index} stands at ${index}`;
    if (choice.finish_reason === null) return `choice ${index} has no finish reason`;
    if (!choice.text.isWellFormed()) return `choice ${index} has half a character`;
    const problem = choice.logprobs && logprobsProblem(choice.logprobs);
    if (problem) return `choice ${index}: ${problem}`;
  }
  return undefined;
}

function logprobsProblem(logprobs: WireLogprobs): string | undefined {
  const { tokens, token_logprobs, top_logprobs, text_offset } = logprobs;
  const lengths = new Set([tokens, token_logprobs, top_logprobs, text_offset].map((x) => x.length));
  if (lengths.size !== 1) return "lists of unequal length";
  for (const [index, token] of tokens.entries()) {
    const value = token_logprobs[index] ?? null;
    const top = top_logprobs[index] ?? null;
    if ((value === null) !== (top === null)) return "null in one list only";
    if (value === null && index > 0) return "null after the first entry";
    if (value !== null && (value > 0 || value < -9999)) return `a logprob of ${value}`;
    if (top !== null && !(Object.hasOwn(top, token) && top[token] === value)) {
      return "a token whose value is not in its map";
    }
    if ((text_offset[index] ?? 0) < (text_offset[index - 1] ?? 0)) return "offsets that fall";
  }
  return undefined;
}

function usageProblem(
  choices: readonly WireChoice[],
  usage: WireUsage,
  request: FuzzRequest,
): string | undefined {
  const { prompt_tokens: prompt, completion_tokens: completion, total_tokens: total } = usage;
  if (prompt + completion !== total) return "a total that is not the sum";
  const { n, maxTokens, candidates, countsAll, echo } = wanted(request);
  if (!countsAll && completion > maxTokens * candidates) return "more tokens than were allowed";
  const lists = choices.map(({ logprobs }) => logprobs);
  if (countsAll || candidates > choices.length || lists.includes(null)) return undefined;
  const entries = lists.reduce((sum, logprobs) => sum + (logprobs?.tokens.length ?? 0), 0);
  const counted = completion + (echo ? n * prompt : 0);
  // With echo the token that ended a text has an entry and is not counted.
  const most = echo ? counted + choices.length : counted;
  if (entries < counted || entries > most) return `${entries} entries for ${counted} tokens`;
  return undefined;
}

interface Wanted {
  readonly n: number;
  /** Choices, and candidates, of all prompts together. */
  readonly count: number;
  readonly candidates: number;
  readonly maxTokens: number;
  readonly echo: boolean;
  /** Reranking draws and counts further candidates. */
  readonly countsAll: boolean;
}

/** Read from the body by the contract's rules, apart from the server's own parser. */
function wanted({ body }: FuzzRequest): Wanted {
  const text = new TextDecoder("utf-8").decode(body);
  const fields = JSON.parse(text) as Record<string, unknown>;
  const { prompt, n, best_of, max_tokens, echo, suffix } = fields;
  const isBatch = Array.isArray(prompt) && typeof prompt[0] !== "number";
  const prompts = isBatch ? prompt.length : 1;
  const each = Number(n ?? 1);
  return {
    n: each,
    count: each * prompts,
    candidates: Math.max(each, Number(best_of ?? 0)) * prompts,
    maxTokens: Number(max_tokens ?? 16),
    echo: echo === true,
    countsAll: typeof suffix === "string" && suffix !== "",
  };
}
