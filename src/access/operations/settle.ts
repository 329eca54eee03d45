/** Ends a request's row: charges what was used, and gives back the rest of what was reserved. */
import type { Settlement } from "../access.ts";
import { giveBack } from "../bucket.ts";
import type { Operation, OperationContext } from "../store.ts";
import type { RequestRow } from "../tables.ts";
import type { TokenMark } from "./admit.ts";
import { addToMonth, Buckets, monthOf, scopesOf } from "./scopes.ts";

export interface SettleInput {
  readonly completionId: string;
  readonly keyId: string | undefined;
  readonly settlement: Settlement;
  /** Buckets that it was filled into; undefined: nobody knows, as the answer got lost. */
  readonly marks: readonly TokenMark[] | undefined;
  /** Since it was let in, by a clock that only goes forward. */
  readonly heldMs: number;
}

/** settled: now. before: it was settled already. missing: there is no such row. */
export type SettleOutput = "settled" | "before" | "missing";

/**
 * Settling again changes nothing. A row that another server took for lost is corrected: who settles
 * is alive, and knows better.
 */
export const settle: Operation<SettleInput, SettleOutput> = {
  mode: "write",
  run: async (context, input) => {
    const { db, dialect } = context;
    // The key's row first, as in `admit`, so that two transactions never wait for each other.
    const key =
      input.keyId === undefined
        ? undefined
        : await dialect
            .lockRows(db.selectFrom("keys").selectAll().where("id", "=", input.keyId))
            .executeTakeFirst();
    const query = db
      .selectFrom("requests")
      .select(["id", "key_id", "end_user", "outcome", "reserved_tokens", "charged_tokens"])
      .select("created_ms")
      .where("completion_id", "=", input.completionId);
    const row = await dialect.lockRows(query).executeTakeFirst();
    if (row === undefined) return "missing";
    if (row.outcome !== "open" && row.outcome !== "lost") return "before";
    const { settlement } = input;
    const charged = settlement.promptTokens + settlement.completionTokens;
    if (key !== undefined) {
      const scopes = scopesOf(key.id, row.end_user, key);
      const users = scopes.map((scope) => scope.endUser);
      await addToMonth(db, key.id, users, {
        month: monthOf(row.created_ms),
        reserved: row.outcome === "open" ? -row.reserved_tokens : 0,
        used: charged - (row.charged_tokens ?? 0),
      });
      const rates = scopes.map(({ endUser, limits }) => ({
        endUser,
        limit: limits.tokensPerMinute,
      }));
      await giveBackTokens(context, input, { row, keyId: key.id, rates, charged });
    }
    await writeRow(context, row.id, settlement, charged);
    return "settled";
  },
};

interface Charge {
  readonly row: Pick<RequestRow, "reserved_tokens" | "created_ms">;
  readonly keyId: string;
  readonly rates: readonly { readonly endUser: string; readonly limit: number | null }[];
  readonly charged: number;
}

async function giveBackTokens(
  { db, nowMs }: OperationContext,
  input: SettleInput,
  { row, keyId, rates, charged }: Charge,
): Promise<void> {
  const unused = row.reserved_tokens - charged;
  const limited = rates.filter((rate) => rate.limit !== null);
  if (unused === 0 || limited.length === 0) return;
  const now = await nowMs();
  const heldMs = Math.max(input.heldMs, now - row.created_ms);
  const users = limited.map((rate) => rate.endUser);
  const buckets = await Buckets.read(db, keyId, users);
  for (const { endUser, limit } of limited) {
    const mark = markOf(input, endUser);
    // A limit that was set while the request ran has nothing of it to give back.
    if (limit === null || mark === undefined) continue;
    const bucket = buckets.get(endUser, "tokens");
    buckets.set(endUser, "tokens", giveBack(bucket, limit, { unused, mark, heldMs }, now));
  }
  await buckets.write();
}

/** Where its tokens end in a bucket; undefined: they are not in it. */
function markOf({ marks }: SettleInput, endUser: string): number | undefined {
  if (marks === undefined) return 0;
  return marks.find((candidate) => candidate.endUser === endUser)?.mark;
}

async function writeRow(
  { db }: OperationContext,
  id: number,
  settlement: Settlement,
  charged: number,
): Promise<void> {
  const whole = (ms: number | undefined) => (ms === undefined ? null : Math.round(ms));
  await db
    .updateTable("requests")
    .set({
      outcome: settlement.outcome,
      error: settlement.error ?? null,
      prompt_tokens: settlement.promptTokens,
      cached_tokens: settlement.cachedTokens,
      completion_tokens: settlement.completionTokens,
      charged_tokens: charged,
      admitted_ms: whole(settlement.admittedMs),
      first_token_ms: whole(settlement.firstTokenMs),
      duration_ms: whole(settlement.durationMs),
    })
    .where("id", "=", id)
    .execute();
}
