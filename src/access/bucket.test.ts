import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type Bucket,
  bucketScale,
  emptyBucket,
  emptyInMs,
  fill,
  giveBack,
  leaked,
  limitMax,
  room,
} from "./bucket.ts";

function filled(bucket: Bucket, limit: number, amount: number, nowMs: number) {
  const filling = fill(bucket, limit, amount, nowMs);
  if (!filling.fits) throw new Error("It does not fit.");
  return filling;
}

describe("a bucket of 60 a minute", () => {
  test("takes 60 at once, and the next one a second later", () => {
    let bucket = emptyBucket;
    for (let index = 0; index < 60; index += 1) bucket = filled(bucket, 60, 1, 5_000).bucket;
    expect(fill(bucket, 60, 1, 5_000)).toEqual({ fits: false, used: 60, waitMs: 1_000 });
    expect(fill(bucket, 60, 1, 5_999)).toEqual({ fits: false, used: 60, waitMs: 1 });
    expect(fill(bucket, 60, 1, 6_000).fits).toBe(true);
  });

  test("says what is left and when it is empty", () => {
    const { bucket } = filled(emptyBucket, 60, 20, 1_000);
    expect([room(bucket, 60), emptyInMs(bucket, 60)]).toEqual([40, 20_000]);
  });

  test("never takes more than the limit in one piece, and says that waiting is in vain", () => {
    expect(fill(emptyBucket, 60, 61, 0)).toEqual({ fits: false, used: 0, waitMs: undefined });
  });

  test("a clock set back neither frees nor blocks: time goes on from there", () => {
    const { bucket } = filled(emptyBucket, 60, 60, 1_000_000);
    const back = leaked(bucket, 60, 400_000);
    expect(back.level).toBe(60 * bucketScale);
    expect(leaked(back, 60, 401_000).level).toBe(59 * bucketScale);
  });

  test("a clock that jumps forward empties it, and no more than that", () => {
    const { bucket } = filled(emptyBucket, 60, 60, 0);
    const late = leaked(bucket, 60, 8.64e15);
    expect(late.level).toBe(0);
    expect(fill(late, 60, 61, 8.64e15).fits).toBe(false);
  });
});

describe("giving back", () => {
  test("what was not used is there again at once", () => {
    const { bucket, mark } = filled(emptyBucket, 1000, 1000, 0);
    const after = giveBack(bucket, 1000, { unused: 900, mark, heldMs: 0 }, 0);
    expect(room(after, 1000)).toBe(900);
  });

  test("a long request on its own gets back what has not leaked yet", () => {
    const { bucket, mark } = filled(emptyBucket, 600, 600, 0);
    // 100 leaked in 10 s; the other 500 were not used.
    const after = giveBack(bucket, 600, { unused: 500, mark, heldMs: 10_000 }, 10_000);
    expect(after.level).toBe(0);
  });

  test("what leaked already is not given back out of what others filled in", () => {
    const first = filled(emptyBucket, 600, 600, 0);
    const second = filled(first.bucket, 600, 600, 60_000);
    const unused = { unused: 600, mark: first.mark, heldMs: 60_000 };
    expect(giveBack(second.bucket, 600, unused, 60_000).level).toBe(600 * bucketScale);
  });

  test("more use than was filled in is filled in now, above the limit if need be", () => {
    const { bucket, mark } = filled(emptyBucket, 100, 100, 0);
    const after = giveBack(bucket, 100, { unused: -50, mark, heldMs: 0 }, 0);
    expect([after.level, room(after, 100)]).toEqual([150 * bucketScale, 0]);
  });
});

interface Step {
  readonly waitMs: number;
  readonly amount: number;
  /** Share of it that is used. */
  readonly used: number;
  readonly heldMs: number;
}

const step: fc.Arbitrary<Step> = fc.record({
  waitMs: fc.integer({ min: 0, max: 30_000 }),
  amount: fc.integer({ min: 1, max: 1500 }),
  used: fc.double({ min: 0, max: 1, noNaN: true }),
  heldMs: fc.integer({ min: 0, max: 90_000 }),
});

interface Taken {
  readonly atMs: number;
  readonly amount: number;
}

/** Straight from what a leaky bucket is, with no state kept: the fullest suffix of what came in. */
function levelOf(taken: readonly Taken[], limit: number, nowMs: number): number {
  let level = 0;
  let fromMs = 0;
  for (const { atMs, amount } of taken) {
    level = Math.max(0, level - (limit * (atMs - fromMs)) / 60_000) + amount;
    fromMs = atMs;
  }
  return Math.max(0, level - (limit * (nowMs - fromMs)) / 60_000);
}

/** What happens, in order of time: requests come, and end after `heldMs`. */
function events(steps: readonly Step[]) {
  let atMs = 0;
  const list = steps.flatMap((each, index) => {
    atMs += each.waitMs;
    return [
      { kind: "come", atMs, index, ...each },
      { kind: "end", atMs: atMs + each.heldMs, index, ...each },
    ];
  });
  return list.toSorted((a, b) => a.atMs - b.atMs);
}

const rounding = 1e-6;

test("a request is let in exactly when a bucket of all that came before says so", () => {
  fc.assert(
    fc.property(
      fc.array(step, { maxLength: 40 }),
      fc.integer({ min: 1, max: 3000 }),
      (all, limit) => {
        let bucket = emptyBucket;
        const taken: Taken[] = [];
        for (const { atMs, amount } of events(all).filter((event) => event.kind === "come")) {
          const filling = fill(bucket, limit, amount, atMs);
          const excess = levelOf(taken, limit, atMs) + amount - limit;
          if (Math.abs(excess) > rounding) expect(filling.fits).toBe(excess < 0);
          if (filling.fits) {
            bucket = filling.bucket;
            taken.push({ atMs, amount });
          } else if (filling.waitMs !== undefined) {
            const { waitMs } = filling;
            expect(fill(bucket, limit, amount, atMs + waitMs).fits).toBe(true);
            expect(fill(bucket, limit, amount, atMs + waitMs - 1).fits).toBe(false);
          }
        }
      },
    ),
  );
});

test("never more is let in than a bucket of what was really used would let in", () => {
  fc.assert(
    fc.property(
      fc.array(step, { maxLength: 40 }),
      fc.integer({ min: 1, max: 3000 }),
      (all, limit) => {
        let bucket = emptyBucket;
        const taken: Taken[] = [];
        const running = new Map<number, { readonly mark: number; readonly fromMs: number }>();
        for (const { kind, atMs, index, amount, used } of events(all)) {
          const reallyUsed = Math.floor(amount * used);
          const held = running.get(index);
          if (kind === "come") {
            const filling = fill(bucket, limit, amount, atMs);
            if (!filling.fits) continue;
            bucket = filling.bucket;
            running.set(index, { mark: filling.mark, fromMs: atMs });
            taken.push({ atMs, amount: reallyUsed });
          } else if (held !== undefined) {
            const { mark, fromMs } = held;
            const back = { unused: amount - reallyUsed, mark, heldMs: atMs - fromMs };
            bucket = giveBack(bucket, limit, back, atMs);
          }
          const level = leaked(bucket, limit, atMs).level / bucketScale;
          expect(level).toBeGreaterThanOrEqual(levelOf(taken, limit, atMs) - rounding);
        }
      },
    ),
    { numRuns: 500 },
  );
});

test("the largest limit still counts exactly", () => {
  const { bucket } = filled(emptyBucket, limitMax, limitMax, 0);
  expect(Number.isSafeInteger(bucket.level)).toBe(true);
  expect(fill(bucket, limitMax, 1, 0).fits).toBe(false);
  expect(fill(bucket, limitMax, 1, 1).fits).toBe(true);
});
