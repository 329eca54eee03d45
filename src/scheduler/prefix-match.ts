/**
 * How much of a prompt need not be read because a sequence holds it already: a pure function of
 * what the sequence holds and what the job wants to know.
 *
 *   prompt   0 ....... kept ............ length
 *            [ held    )[ rows to compute    )
 *
 * Row i gives the logits for token i + 1. So the score of token `kept` must be known already, and
 * the last row is computed again unless its logits were kept.
 */
import type { Job, Score } from "../engine/engine.ts";
import { commonPrefix } from "./slot.ts";

/** The part of a slot that matters, or what a task that still reads will hold. */
export interface HeldPrompt {
  readonly tokens: readonly number[];
  /** Tokens from the start that may be used again. */
  readonly reusableLength: number;
  /** Whether the score of token `index` is known with this many alternatives. */
  hasScore(index: number, topCount: number): boolean;
  /** Whether the logits of this row are known. */
  hasRow(position: number): boolean;
}

export interface MatchRules {
  /** Rows that are computed at the least when any are: a lone row has other bits. */
  readonly rowsMin: 1 | 2;
  /** Whether a sequence can be cut back to any length. Recurrent state cannot. */
  readonly cutsAnywhere: boolean;
}

/** Prompt tokens to keep; all of them when nothing has to be computed. 0: no use. */
export function keptLength(job: Job, held: HeldPrompt, rules: MatchRules): number {
  const { prompt } = job;
  const common = commonPrefix(prompt, held.tokens, held.reusableLength);
  if (common === prompt.length && isComplete(job, held)) {
    return fits(common, held, rules) ? common : 0;
  }
  const kept = Math.min(common, prompt.length - rules.rowsMin, scoredUpTo(job, held, common));
  return kept > 0 && fits(kept, held, rules) ? kept : 0;
}

function fits(kept: number, held: HeldPrompt, rules: MatchRules): boolean {
  return rules.cutsAnywhere || kept === held.tokens.length;
}

/** Whether the whole answer about the prompt is known. */
function isComplete(job: Job, held: HeldPrompt): boolean {
  const last = job.prompt.length - 1;
  if (job.maxTokens > 0 && !held.hasRow(last)) return false;
  return job.scoreFrom === undefined || scoredUpTo(job, held, job.prompt.length) === last;
}

/**
 * The last token whose score, and that of every scored token before it, is known; computing goes
 * on at its row. Unlimited for a job that scores nothing.
 */
function scoredUpTo(job: Job, held: HeldPrompt, common: number): number {
  if (job.scoreFrom === undefined) return Number.POSITIVE_INFINITY;
  let index = job.scoreFrom;
  while (index < common && held.hasScore(index, job.topLogprobs ?? 0)) index += 1;
  return index - 1;
}

export function scoreCovers(score: Score | undefined, topCount: number): boolean {
  return score !== undefined && score.top.length >= topCount;
}
