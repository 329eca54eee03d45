/** A bounded version of `npm run proof:shared-limits`. */
import { expect, test } from "vitest";
import { databaseKinds, hasPostgres, newDatabase } from "./proof-database.ts";
import { runSharedLimits } from "./shared-limits.ts";

const kinds = databaseKinds.filter((kind) => kind === "sqlite" || hasPostgres);

test.for(kinds)("two servers on one %s database share limits exactly", async (kind) => {
  const database = await newDatabase(kind);
  try {
    const parts = await runSharedLimits({ database, seconds: 6, clientsEach: 4, seed: 7 });
    expect(parts.flatMap(({ violations }) => violations)).toEqual([]);
  } finally {
    await database.remove();
  }
});
