/**
 * `npm run proof:shared-limits -- --seconds 60 --database sqlite|postgres|both`: two servers on one
 * database, hammered by many clients; what was let in is compared with what the limits have room
 * for. On this machine only.
 */
import { parseArgs } from "node:util";
import { printPart } from "../test/proofs/figures.ts";
import { databaseKind, databaseKinds, newDatabase } from "../test/proofs/proof-database.ts";
import { runSharedLimits } from "../test/proofs/shared-limits.ts";

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "60" },
    clients: { type: "string", default: "6" },
    database: { type: "string", default: "both" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
  },
});

console.log(`seed ${values.seed}`);
const kinds = values.database === "both" ? databaseKinds : [databaseKind(values.database)];
for (const kind of kinds) {
  const database = await newDatabase(kind);
  try {
    const parts = await runSharedLimits({
      database,
      seconds: Number(values.seconds),
      clientsEach: Number(values.clients),
      seed: Number(values.seed),
    });
    parts.forEach(printPart);
  } finally {
    await database.remove();
  }
}
