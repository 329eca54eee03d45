/** The ledger read: sums by group, and rows in pages. */
import type { ExpressionBuilder } from "kysely";
import type { UsageGroup, UsageQuery, UsageRow } from "../access.ts";
import { dayOf, wholeSum } from "../dialects.ts";
import type { Operation } from "../store.ts";
import type { RequestRow, Tables } from "../tables.ts";

/**
 * Whose rows. A key of the database by its id; keyless rows by the name that they carry ("" where
 * no keys were in use); undefined: everybody's.
 */
export interface LedgerOwner {
  readonly keyId: string | undefined;
  readonly name: string;
}

export interface SumUsageInput {
  readonly query: UsageQuery;
  readonly owner: LedgerOwner | undefined;
}

const dayMs = 86_400_000;

/** Sums over requests that ended; completion tokens of lost ones are not known and count as 0. */
export const sumUsage: Operation<SumUsageInput, readonly UsageRow[]> = {
  mode: "report",
  run: async ({ db }, { query, owner }) => {
    const by = new Set<UsageGroup>(query.by);
    const rows = await db
      .selectFrom("requests")
      .select((select) => [
        select.fn.countAll<number>().as("requests"),
        wholeSum("prompt_tokens").as("promptTokens"),
        wholeSum("cached_tokens").as("cachedTokens"),
        wholeSum("completion_tokens").as("completionTokens"),
      ])
      .where(ofOwner(owner))
      .where(within(query))
      .$if(by.has("day"), (q) =>
        q.select(dayOf("created_ms").as("day")).groupBy("day").orderBy("day"),
      )
      .$if(by.has("key"), (q) =>
        q.select(["key_id", "key_name"]).groupBy(["key_id", "key_name"]).orderBy("key_name"),
      )
      .$if(by.has("model"), (q) => q.select("model").groupBy("model").orderBy("model"))
      .$if(by.has("user"), (q) => q.select("end_user").groupBy("end_user").orderBy("end_user"))
      .execute();
    // Without groups there is one row even when it sums up nothing.
    return rows.map(({ day, key_id, key_name, end_user, model, ...sums }) => ({
      ...(day === undefined ? {} : { day: dayText(day) }),
      ...(key_name === undefined ? {} : { key: key_name }),
      ...(key_id === undefined || key_id === null ? {} : { keyId: key_id }),
      ...(model === undefined ? {} : { model }),
      ...(end_user === undefined ? {} : { user: end_user ?? "" }),
      ...sums,
    }));
  },
};

const dayText = (day: number): string => new Date(day * dayMs).toISOString().slice(0, 10);

type Where = ExpressionBuilder<Tables, "requests">;

function ofOwner(owner: LedgerOwner | undefined) {
  return (where: Where) => {
    if (owner === undefined) return where.and([]);
    if (owner.keyId !== undefined) return where("key_id", "=", owner.keyId);
    return where.and([where("key_id", "is", null), where("key_name", "=", owner.name)]);
  };
}

function within(range: { readonly fromMs?: number; readonly untilMs?: number }) {
  return (where: Where) =>
    where.and([
      where("outcome", "<>", "open"),
      ...(range.fromMs === undefined ? [] : [where("created_ms", ">=", range.fromMs)]),
      ...(range.untilMs === undefined ? [] : [where("created_ms", "<", range.untilMs)]),
    ]);
}

export interface ListRequestsInput {
  readonly fromMs?: number;
  readonly untilMs?: number;
  readonly owner?: LedgerOwner | undefined;
  /** Rows after this id. */
  readonly afterId: number;
  readonly rowsMax: number;
}

/** A page of rows that ended, by id. */
export const listRequests: Operation<ListRequestsInput, readonly RequestRow[]> = {
  mode: "report",
  run: async ({ db }, input) => {
    const query = db.selectFrom("requests").selectAll().where("id", ">", input.afterId);
    const owned = query.where(ofOwner(input.owner));
    return owned.where(within(input)).orderBy("id").limit(input.rowsMax).execute();
  },
};
