/**
 * `npm run proof:server-kills -- --times 200 --database sqlite|postgres --seed N`: kills the server
 * that many times at random moments under load and starts it again on the same database; with
 * Postgres then kills that as well, under a server that stays. On this machine only.
 */
import { parseArgs } from "node:util";
import { runDatabaseKills } from "../test/proofs/database-kills.ts";
import { printPart } from "../test/proofs/figures.ts";
import { databaseKind, newDatabase } from "../test/proofs/proof-database.ts";
import { runServerKills } from "../test/proofs/server-kills.ts";

const { values } = parseArgs({
  options: {
    times: { type: "string", default: "200" },
    "database-times": { type: "string", default: "10" },
    database: { type: "string", default: "sqlite" },
    clients: { type: "string", default: "12" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
  },
});
const times = Number(values.times);
const kind = databaseKind(values.database);
const common = { clients: Number(values.clients), seed: Number(values.seed) };

console.log(`seed ${values.seed}`);
const database = await newDatabase(kind);
try {
  const parts = await runServerKills({
    ...{ ...common, database, times },
    onProgress: (done) => {
      if (done % 20 === 0) console.log(`  ${done} of ${times}`);
    },
  });
  parts.forEach(printPart);
} finally {
  await database.remove();
}
const databaseTimes = Number(values["database-times"]);
if (kind === "postgres" && databaseTimes > 0) {
  const another = await newDatabase(kind);
  try {
    const parts = await runDatabaseKills({ ...common, database: another, times: databaseTimes });
    parts.forEach(printPart);
  } finally {
    await another.remove();
  }
}
