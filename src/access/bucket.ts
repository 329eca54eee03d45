/**
 * A continuous rate limit: a bucket that leaks at limit / 60 per second, and that a request may fill
 * up to the limit. Whole numbers throughout, so that nothing is lost by rounding.
 */

/** A bucket's level counts in 1/60,000: what leaks in a millisecond is then exactly the limit. */
export const bucketScale = 60_000;

/** A limit times the scale must stay a whole number that is exact: 1e11 x 60,000 < 2^53. */
export const limitMax = 100_000_000_000;

export interface Bucket {
  /** What is in it, times `bucketScale`. */
  readonly level: number;
  /** Unix milliseconds at which that was its level. */
  readonly atMs: number;
  /** All that was ever given back, in whole units rounded up. */
  readonly refunded: number;
}

export const emptyBucket: Bucket = { level: 0, atMs: 0, refunded: 0 };

/**
 * The bucket after what leaked since. A clock that was set back leaks nothing for that step and
 * blocks nothing later: time goes on from where the clock now stands. One that jumped forward
 * empties the bucket at most.
 */
export function leaked(bucket: Bucket, limit: number, nowMs: number): Bucket {
  const elapsedMs = Math.max(0, nowMs - bucket.atMs);
  return { ...bucket, level: Math.max(0, bucket.level - limit * elapsedMs), atMs: nowMs };
}

export type Filling =
  | {
      readonly fits: true;
      readonly bucket: Bucket;
      /** Where in the bucket this amount ends: `giveBack` needs it. */
      readonly mark: number;
    }
  | {
      readonly fits: false;
      /** What is in the bucket, rounded up. */
      readonly used: number;
      /** Milliseconds until the amount fits; undefined when it never will. */
      readonly waitMs: number | undefined;
    };

/** Adds `amount` if it fits. */
export function fill(bucket: Bucket, limit: number, amount: number, nowMs: number): Filling {
  const current = leaked(bucket, limit, nowMs);
  const level = current.level + amount * bucketScale;
  const excess = level - limit * bucketScale;
  if (excess > 0) {
    const waitMs = amount > limit ? undefined : Math.ceil(excess / limit);
    return { fits: false, used: Math.ceil(current.level / bucketScale), waitMs };
  }
  const mark = Math.floor(level / bucketScale) + current.refunded;
  return { fits: true, bucket: { ...current, level }, mark };
}

export interface Return {
  /** What was filled in and not used; negative when more was used than filled in. */
  readonly unused: number;
  readonly mark: number;
  /** Milliseconds since it was filled in. */
  readonly heldMs: number;
}

/**
 * Takes out what was not used, as far as it is still in the bucket: what leaked since then made room
 * once already. Two lower bounds of what is still there are known, and the larger is taken. All that
 * leaked may have been this request's (sure, and near the truth for a short request). Or, as amounts
 * leak in the order in which they came: what was in the bucket up to this request's mark, less what
 * leaked and what was given back since (near the truth for a long request on its own).
 * So a bucket is never below what it would be had every request filled in only what it used.
 */
export function giveBack(bucket: Bucket, limit: number, back: Return, nowMs: number): Bucket {
  const current = leaked(bucket, limit, nowMs);
  const unused = back.unused * bucketScale;
  if (unused <= 0) return { ...current, level: Math.min(current.level - unused, levelMax) };
  const leakedSince = limit * back.heldMs;
  const inOrder = (back.mark - current.refunded) * bucketScale - leakedSince;
  const still = Math.max(unused - leakedSince, inOrder);
  const amount = Math.min(Math.max(still, 0), unused, current.level);
  const refunded = current.refunded + Math.ceil(amount / bucketScale);
  return { ...current, level: current.level - amount, refunded };
}

const levelMax = Number.MAX_SAFE_INTEGER;

/** Milliseconds until the bucket is empty. */
export function emptyInMs(bucket: Bucket, limit: number): number {
  return Math.ceil(bucket.level / limit);
}

/** What still fits, rounded down. */
export function room(bucket: Bucket, limit: number): number {
  return Math.max(0, Math.floor(limit - bucket.level / bucketScale));
}
