/**
 * Keeps answers with megabytes of logprobs from holding up everybody else: their parts are made and
 * written one after the other without waiting for anything, and while they are, no other connection
 * is read. So only so much is let through in one turn of the event loop, counted before it is made:
 * a clock would be looked at by all who wait before the first of them has worked.
 */
import type { Choice } from "../contract/responses.ts";

/** Numbers and names of one turn: some milliseconds to print. */
const weightMax = 10_000;

let weight = 0;
let others: Promise<void> | undefined;

/** Names and values that a part prints; one for a part that has none. */
export function partWeight({ logprobs }: Choice): number {
  if (logprobs === null) return 1;
  const alternatives = logprobs.top_logprobs.at(-1)?.length ?? 0;
  return 1 + logprobs.tokens.length * (1 + alternatives);
}

/** Resolves when this turn has room for a part: for a small one mostly at once. First come first. */
export async function roomFor(part: Choice): Promise<void> {
  const own = partWeight(part);
  while (weight > 0 && weight + own > weightMax) await othersTurn();
  if (weight === 0) {
    setImmediate(() => {
      weight = 0;
    });
  }
  weight += own;
}

function othersTurn(): Promise<void> {
  others ??= new Promise((resolve) => {
    setImmediate(() => {
      others = undefined;
      resolve();
    });
  });
  return others;
}
