/** When a failed request is sent again, by the rules that the official clients share. */

export interface RetryPolicy {
  /** Tries after the first. */
  readonly retriesMax: number;
  /** 0 to 1. */
  readonly random: () => number;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** What is known of an answer that was no success. */
export interface FailedAnswer {
  readonly status: number;
  readonly header: (name: string) => string | undefined;
}

const backoffMsMin = 500;
const backoffMsMax = 8_000;
/** The backoff is shortened by up to this share, so that clients do not come back all at once. */
const jitterShare = 0.25;
/** A server that asks for a longer wait than this is not obeyed; the backoff holds. */
const advisedMsMax = 60_000;

/**
 * How long to wait before the next try, or undefined when there shall be none. An undefined answer is
 * a connection that failed. `retriesDone` counts from 0.
 */
export function retryDelayMs(
  policy: RetryPolicy,
  retriesDone: number,
  answer: FailedAnswer | undefined,
): number | undefined {
  if (retriesDone >= policy.retriesMax) return undefined;
  if (answer === undefined) return backoffMs(policy, retriesDone);
  if (!isTemporary(answer)) return undefined;
  return advisedMs(policy, answer) ?? backoffMs(policy, retriesDone);
}

/** The server's own word comes first. */
function isTemporary({ status, header }: FailedAnswer): boolean {
  const advice = header("x-should-retry");
  if (advice === "true") return true;
  if (advice === "false") return false;
  return status === 408 || status === 409 || status === 429 || status >= 500;
}

function advisedMs({ now }: RetryPolicy, { header }: FailedAnswer): number | undefined {
  const advised = [numberOf(header("retry-after-ms")), waitMs(header("retry-after"), now)];
  const delayMs = advised.find((delay) => delay !== undefined);
  return delayMs !== undefined && delayMs >= 0 && delayMs <= advisedMsMax ? delayMs : undefined;
}

/** Seconds, or the date of HTTP. */
function waitMs(text: string | undefined, now: () => number): number | undefined {
  const seconds = numberOf(text);
  if (seconds !== undefined) return seconds * 1000;
  const date = Date.parse(text ?? "");
  return Number.isNaN(date) ? undefined : date - now();
}

function numberOf(text: string | undefined): number | undefined {
  if (text === undefined || text.trim() === "") return undefined;
  const value = Number(text);
  return Number.isFinite(value) ? value : undefined;
}

function backoffMs({ random }: RetryPolicy, retriesDone: number): number {
  const full = Math.min(backoffMsMax, backoffMsMin * 2 ** retriesDone);
  return full * (1 - jitterShare * random());
}
