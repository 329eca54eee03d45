/** What a limit says to a client: the error of a refusal, and the headers of what was let in. */
import { ApiError } from "../contract/errors.ts";
import { durationText } from "./duration-text.ts";
import type { RateState, Refusal, RefusedLimit } from "./operations/admit.ts";

/** How limits are called in messages; the first two as OpenAI calls them. */
const limitTexts: Readonly<Record<Exclude<RefusedLimit, "tokensPerMonth">, readonly string[]>> = {
  requestsPerMinute: ["requests", "requests per min (RPM)"],
  tokensPerMinute: ["tokens", "tokens per min (TPM)"],
  maxParallel: ["requests", "parallel requests"],
};

export function refusalError(
  refusal: Refusal,
  model: string,
  rates: readonly RateState[],
): ApiError {
  const headers = rateHeaders(rates);
  const { name, ofUser, limit, used, requested, waitMs } = refusal;
  if (name === "tokensPerMonth") {
    return new ApiError("quota", {}, { retry: { shouldRetry: false }, headers });
  }
  const [limitType = "", text = ""] = limitTexts[name];
  const limitName = ofUser ? `${text} of this user` : text;
  const details = { model, limitType, limitName, limit, used, requested };
  if (waitMs === undefined) {
    return new ApiError("requestOverLimit", details, { retry: { shouldRetry: false }, headers });
  }
  return new ApiError(
    "rateLimit",
    { ...details, delay: durationText(waitMs) },
    { retry: { shouldRetry: true, retryAfterMs: waitMs }, headers },
  );
}

/** The x-ratelimit headers; none without limits. */
export function rateHeaders(rates: readonly RateState[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    rates.flatMap(({ kind, limit, remaining, resetMs }) => [
      [`x-ratelimit-limit-${kind}`, String(limit)],
      [`x-ratelimit-remaining-${kind}`, String(remaining)],
      [`x-ratelimit-reset-${kind}`, durationText(resetMs)],
    ]),
  );
}
