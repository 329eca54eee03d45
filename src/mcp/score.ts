/** How likely a model finds a text: an echoed completion of no tokens, read as scores. */
import { isObject, type JsonObject } from "./json.ts";
import { upstreamFailed } from "./tool-error.ts";

export interface ScoredToken {
  readonly token: string;
  /** Null where nothing precedes the token. */
  readonly logprob: number | null;
  /** Code points in front of it. */
  readonly offset: number;
  readonly top_logprobs?: JsonObject | null;
}

export interface ScoreResult {
  readonly model: string;
  readonly tokens: readonly ScoredToken[];
  readonly scored_tokens: number;
  readonly sum_logprob: number;
  readonly mean_logprob: number | null;
  readonly perplexity: number | null;
}

/** The request whose answer holds the scores. */
export function scoreRequest(given: JsonObject): JsonObject {
  const { input, model, top_logprobs } = given;
  return {
    ...(model === undefined ? {} : { model }),
    prompt: input,
    max_tokens: 0,
    echo: true,
    logprobs: top_logprobs ?? 0,
    // Nothing is drawn; this keeps servers from refusing or guessing.
    temperature: 0,
  };
}

/** Throws when the answer has no scores of the prompt: some servers take `echo` and ignore it. */
export function readScores(response: JsonObject, given: JsonObject): ScoreResult {
  const tokens = scoredTokens(response, given);
  const known = tokens.flatMap(({ logprob }) => (logprob === null ? [] : [logprob]));
  const sum = known.reduce((total, logprob) => total + logprob, 0);
  const mean = known.length === 0 ? null : sum / known.length;
  const perplexity = mean === null ? null : Math.exp(-mean);
  return {
    model: String(response.model ?? given.model ?? ""),
    tokens,
    scored_tokens: known.length,
    sum_logprob: sum,
    mean_logprob: mean,
    perplexity: perplexity !== null && Number.isFinite(perplexity) ? perplexity : null,
  };
}

/** For a reader: the figures in a sentence. */
export function describeScores(scores: ScoreResult): string {
  const { scored_tokens: count, mean_logprob: mean, perplexity } = scores;
  if (mean === null) return "No token of this text has anything in front of it, so none is scored.";
  const shown = (value: number) => String(Number(value.toPrecision(6)));
  return (
    `${count} tokens, sum of logprobs ${shown(scores.sum_logprob)}, mean ${shown(mean)}, ` +
    `perplexity ${perplexity === null ? "beyond all numbers" : shown(perplexity)}.`
  );
}

function scoredTokens(response: JsonObject, given: JsonObject): ScoredToken[] {
  const choice: unknown = Array.isArray(response.choices) ? response.choices[0] : undefined;
  const logprobs = isObject(choice) ? choice.logprobs : undefined;
  if (!isObject(choice) || !isObject(logprobs)) throw noScores();
  const { tokens, token_logprobs: values, text_offset: offsets, top_logprobs: top } = logprobs;
  if (!Array.isArray(tokens) || !Array.isArray(values) || tokens.length === 0) throw noScores();
  if (values.length !== tokens.length || ignoredEcho(choice, given)) throw noScores();
  const wantsTop = typeof given.top_logprobs === "number" && given.top_logprobs > 0;
  return tokens.map((token, index) => {
    const value: unknown = values[index];
    const entry = {
      token: String(token),
      logprob: typeof value === "number" ? value : null,
      offset: Number((Array.isArray(offsets) ? offsets[index] : undefined) ?? 0),
    };
    if (!wantsTop) return entry;
    const likeliest: unknown = Array.isArray(top) ? top[index] : null;
    return { ...entry, top_logprobs: isObject(likeliest) ? likeliest : null };
  });
}

function ignoredEcho(choice: JsonObject, { input }: JsonObject): boolean {
  return typeof input === "string" && !String(choice.text).startsWith(input);
}

const noScores = () =>
  upstreamFailed("it gave no logprobs of the prompt, as servers do that ignore 'echo'");
