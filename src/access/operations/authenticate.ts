/** Whose key it is, asked for every request, and whether it still holds while one runs. */
import type { Operation } from "../store.ts";
import type { KeyRow } from "../tables.ts";

export type Identity =
  /** There is no key at all: everybody may ask. */
  | { readonly kind: "open" }
  | { readonly kind: "unknown" }
  | {
      readonly kind: "key";
      readonly id: string;
      readonly name: string;
      readonly secretHash: string;
      readonly models: readonly string[] | undefined;
    };

/** Revoked and expired keys are as unknown ones; yet as long as any row exists, a key is needed. */
export const identify: Operation<{ readonly secretHash: string | undefined }, Identity> = {
  mode: "read",
  run: async ({ db, nowMs }, { secretHash }) => {
    if (secretHash !== undefined) {
      const row = await db
        .selectFrom("keys")
        .select(["id", "name", "secret_hash", "models", "expires_ms", "revoked_ms"])
        .where("secret_hash", "=", secretHash)
        .executeTakeFirst();
      if (row !== undefined) {
        if (!keyHolds(row, await nowMs())) return { kind: "unknown" };
        const { id, name, secret_hash, models } = row;
        return { kind: "key", id, name, secretHash: secret_hash, models: modelsOf(models) };
      }
    }
    const any = await db.selectFrom("keys").select("id").limit(1).executeTakeFirst();
    return { kind: any === undefined ? "open" : "unknown" };
  },
};

export interface InvalidKey {
  readonly id: string;
  readonly masked: string;
}

/** Which of these keys are revoked or expired. At most `invalidKeysMax` ids. */
export const invalidKeys: Operation<{ readonly ids: readonly string[] }, readonly InvalidKey[]> = {
  mode: "read",
  run: async ({ db, nowMs }, { ids }) => {
    const now = await nowMs();
    return db
      .selectFrom("keys")
      .select(["id", "masked"])
      .where("id", "in", ids)
      .where((where) =>
        where.or([where("revoked_ms", "is not", null), where("expires_ms", "<=", now)]),
      )
      .execute();
  },
};

/** Ids of one `invalidKeys`. */
export const invalidKeysMax = 1000;

/** Notes when keys were last used. */
export const touchKeys: Operation<{ readonly ids: readonly string[] }, void> = {
  mode: "write",
  run: async ({ db, nowMs }, { ids }) => {
    const last_used_ms = await nowMs();
    await db.updateTable("keys").set({ last_used_ms }).where("id", "in", ids).execute();
  },
};

export function keyHolds(row: Pick<KeyRow, "expires_ms" | "revoked_ms">, nowMs: number): boolean {
  return row.revoked_ms === null && (row.expires_ms === null || row.expires_ms > nowMs);
}

export function modelsOf(stored: string | null): readonly string[] | undefined {
  return stored === null ? undefined : (JSON.parse(stored) as string[]);
}
