/** What a key and a user within it have used of their limits, read and written together. */
import type { Kysely } from "kysely";
import { type Bucket, emptyBucket } from "../bucket.ts";
import { isOpen } from "../dialects.ts";
import {
  keyScopeLimits,
  type LimitColumns,
  type ScopeLimits,
  userScopeLimits,
} from "../key-limits.ts";
import type { BucketKind, Tables } from "../tables.ts";

/** The key as a whole, or one user within it. */
export interface Scope {
  readonly keyId: string;
  /** "" for the key as a whole. */
  readonly endUser: string;
  readonly limits: ScopeLimits;
}

/**
 * The scopes of a request: the key, and the user that it names. A user's use is kept without limits
 * too: these may be set or taken away while a request runs, and count what the month has used.
 */
export function scopesOf(
  keyId: string,
  endUser: string | null,
  columns: LimitColumns,
): readonly Scope[] {
  const key: Scope = { keyId, endUser: "", limits: keyScopeLimits(columns) };
  if (endUser === null) return [key];
  return [key, { keyId, endUser, limits: userScopeLimits(columns) }];
}

const bucketKey = (endUser: string, kind: BucketKind) => `${kind} ${endUser}`;

interface KeptBucket {
  readonly endUser: string;
  readonly kind: BucketKind;
  readonly bucket: Bucket;
}

/** Buckets of the scopes by user and kind; those that were never used are empty. */
export class Buckets {
  readonly #db: Kysely<Tables>;
  readonly #keyId: string;
  readonly #current = new Map<string, KeptBucket>();
  readonly #changed = new Map<string, KeptBucket>();

  private constructor(db: Kysely<Tables>, keyId: string) {
    this.#db = db;
    this.#keyId = keyId;
  }

  static async read(db: Kysely<Tables>, keyId: string, users: readonly string[]): Promise<Buckets> {
    const buckets = new Buckets(db, keyId);
    const rows = await db
      .selectFrom("buckets")
      .select(["end_user", "kind", "level", "at_ms", "refunded"])
      .where("key_id", "=", keyId)
      .where("end_user", "in", users)
      .execute();
    for (const { end_user, kind, level, at_ms, refunded } of rows) {
      const bucket = { level, atMs: at_ms, refunded };
      buckets.#current.set(bucketKey(end_user, kind), { endUser: end_user, kind, bucket });
    }
    return buckets;
  }

  get(endUser: string, kind: BucketKind): Bucket {
    return this.#current.get(bucketKey(endUser, kind))?.bucket ?? emptyBucket;
  }

  set(endUser: string, kind: BucketKind, bucket: Bucket): void {
    const kept = { endUser, kind, bucket };
    this.#current.set(bucketKey(endUser, kind), kept);
    this.#changed.set(bucketKey(endUser, kind), kept);
  }

  /**
   * Writes buckets whose time lies ahead: the clock was set back. It is done for a request that is
   * refused too, as the bucket would not leak until the clock is where it was.
   */
  async comeBackTo(nowMs: number): Promise<void> {
    for (const { endUser, kind, bucket } of [...this.#current.values()]) {
      if (bucket.atMs > nowMs) this.set(endUser, kind, { ...bucket, atMs: nowMs });
    }
    await this.write();
    this.#changed.clear();
  }

  async write(): Promise<void> {
    if (this.#changed.size === 0) return;
    await this.#db
      .insertInto("buckets")
      .values(
        [...this.#changed.values()].map(({ endUser, kind, bucket }) => ({
          key_id: this.#keyId,
          end_user: endUser,
          kind,
          level: bucket.level,
          at_ms: bucket.atMs,
          refunded: bucket.refunded,
        })),
      )
      .onConflict((conflict) =>
        conflict.columns(["key_id", "end_user", "kind"]).doUpdateSet((set) => ({
          level: set.ref("excluded.level"),
          at_ms: set.ref("excluded.at_ms"),
          refunded: set.ref("excluded.refunded"),
        })),
      )
      .execute();
  }
}

/** `2026-08`, UTC. */
export const monthOf = (ms: number): string => new Date(ms).toISOString().slice(0, 7);

/** Tokens of this month, reserved ones included, by user. */
export async function monthTokens(
  db: Kysely<Tables>,
  keyId: string,
  users: readonly string[],
  month: string,
): Promise<ReadonlyMap<string, number>> {
  const rows = await db
    .selectFrom("month_usage")
    .select(["end_user", "reserved", "used"])
    .where("key_id", "=", keyId)
    .where("end_user", "in", users)
    .where("month", "=", month)
    .execute();
  return new Map(rows.map((row) => [row.end_user, row.reserved + row.used]));
}

/** Adds to the sums of a month; both amounts may be negative. */
export async function addToMonth(
  db: Kysely<Tables>,
  keyId: string,
  users: readonly string[],
  add: { readonly month: string; readonly reserved: number; readonly used: number },
): Promise<void> {
  await db
    .insertInto("month_usage")
    .values(users.map((end_user) => ({ key_id: keyId, end_user, ...add })))
    .onConflict((conflict) =>
      conflict.columns(["key_id", "end_user", "month"]).doUpdateSet((set) => ({
        reserved: set("month_usage.reserved", "+", set.ref("excluded.reserved")),
        used: set("month_usage.used", "+", set.ref("excluded.used")),
      })),
    )
    .execute();
}

/** Requests that run now; of one user, or with "" of the whole key. */
export async function countOpen(
  db: Kysely<Tables>,
  keyId: string,
  endUser: string,
): Promise<number> {
  let query = db
    .selectFrom("requests")
    .select((select) => select.fn.countAll<number>().as("count"))
    .where("key_id", "=", keyId)
    .where(isOpen);
  if (endUser !== "") query = query.where("end_user", "=", endUser);
  return (await query.executeTakeFirst())?.count ?? 0;
}
