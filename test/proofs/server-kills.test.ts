/** Bounded versions of `npm run proof:server-kills`. Linux only, as the engine's end is. */
import { expect, test } from "vitest";
import { runDatabaseKills } from "./database-kills.ts";
import { databaseKinds, hasPostgres, newDatabase } from "./proof-database.ts";
import { runServerKills } from "./server-kills.ts";

const common = { clients: 8, seed: 20_261_130 };
const kinds = databaseKinds.filter((kind) => kind === "sqlite" || hasPostgres);

test.for(kinds)("a server that is killed again and again loses nothing on %s", async (kind) => {
  const database = await newDatabase(kind);
  try {
    const parts = await runServerKills({ ...common, database, times: 3 });
    expect(parts.flatMap(({ violations }) => violations)).toEqual([]);
  } finally {
    await database.remove();
  }
});

test.skipIf(!hasPostgres)(
  "a server outlives its Postgres, refuses meanwhile and loses nothing",
  async () => {
    const database = await newDatabase("postgres");
    try {
      const parts = await runDatabaseKills({ ...common, database, times: 2 });
      expect(parts.flatMap(({ violations }) => violations)).toEqual([]);
    } finally {
      await database.remove();
    }
  },
);
