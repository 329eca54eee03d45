/** Making, listing, revoking and changing keys. */
import type { LimitColumns } from "../key-limits.ts";
import type { Operation, OperationContext } from "../store.ts";
import type { KeyRow } from "../tables.ts";

export interface NewSecret {
  readonly secretHash: string;
  readonly masked: string;
}

export interface CreateKeyInput extends NewSecret {
  readonly id: string;
  readonly name: string;
  readonly models: readonly string[] | undefined;
  readonly expiresMs: number | undefined;
  readonly limits: LimitColumns;
}

/** The row; undefined when a key of that name is in use. */
export const createKey: Operation<CreateKeyInput, KeyRow | undefined> = {
  mode: "write",
  run: async ({ db, nowMs }, input) =>
    db
      .insertInto("keys")
      .values({
        id: input.id,
        name: input.name,
        secret_hash: input.secretHash,
        masked: input.masked,
        models: input.models === undefined ? null : JSON.stringify(input.models),
        created_ms: await nowMs(),
        expires_ms: input.expiresMs ?? null,
        ...input.limits,
      })
      // Never `do nothing` for the secret: two keys with one secret would be a fault.
      .onConflict((conflict) => conflict.column("name").where("revoked_ms", "is", null).doNothing())
      .returningAll()
      .executeTakeFirst(),
};

export const listKeys: Operation<void, readonly KeyRow[]> = {
  mode: "report",
  run: ({ db }) => db.selectFrom("keys").selectAll().orderBy("created_ms").orderBy("id").execute(),
};

export type KeyChange =
  | { readonly kind: "changed"; readonly key: KeyRow }
  | { readonly kind: "unknown" }
  | { readonly kind: "revoked" };

/** Ends a key for good; a second time it says so. */
export const revokeKey: Operation<{ readonly idOrName: string }, KeyChange> = {
  mode: "write",
  run: async (context, { idOrName }) =>
    changeKey(context, idOrName, { revoked_ms: await context.nowMs() }),
};

/** Gives a key another secret; the one before stops at once. */
export const rotateKey: Operation<NewSecret & { readonly idOrName: string }, KeyChange> = {
  mode: "write",
  run: async (context, { idOrName, secretHash, masked }) => {
    const rotated_ms = await context.nowMs();
    return changeKey(context, idOrName, { secret_hash: secretHash, masked, rotated_ms });
  },
};

export interface UpdateKeyInput {
  readonly idOrName: string;
  readonly change: Partial<LimitColumns & Pick<KeyRow, "models" | "expires_ms">>;
}

/** Changes what a key may do; running servers go by it from the next request on. */
export const updateKey: Operation<UpdateKeyInput, KeyChange> = {
  mode: "write",
  run: (context, { idOrName, change }) => changeKey(context, idOrName, change),
};

async function changeKey(
  { db, dialect }: OperationContext,
  idOrName: string,
  change: Partial<KeyRow>,
): Promise<KeyChange> {
  const query = db
    .selectFrom("keys")
    .select(["id", "name", "revoked_ms"])
    .where((where) => where.or([where("id", "=", idOrName), where("name", "=", idOrName)]));
  const rows = await dialect.lockRows(query).execute();
  const byId = rows.filter((row) => row.id === idOrName);
  const found = byId.length > 0 ? byId : rows;
  if (found.length === 0) return { kind: "unknown" };
  const row = found.find((candidate) => candidate.revoked_ms === null);
  if (row === undefined) return { kind: "revoked" };
  // An update of nothing would be no statement.
  const key = await db
    .updateTable("keys")
    .set({ id: row.id, ...change })
    .where("id", "=", row.id)
    .returningAll()
    .executeTakeFirstOrThrow();
  return { kind: "changed", key };
}
