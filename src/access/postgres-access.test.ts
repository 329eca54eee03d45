import { afterAll, beforeAll, describe, test } from "vitest";
import { keySuite } from "./testing/key-suite.ts";
import { ledgerSuite } from "./testing/ledger-suite.ts";
import { limitSuite } from "./testing/limit-suite.ts";
import { type PostgresServer, postgresPrograms, startPostgres } from "./testing/postgres-server.ts";

const programs = postgresPrograms();

if (programs === undefined) {
  const missing = "POSTGRES IS NOT INSTALLED: nothing of access was tested on it";
  console.warn(missing);
  test.skip(missing, () => undefined);
} else {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres(programs);
  }, 120_000);
  afterAll(() => server.remove());

  const newDatabase = async () => ({
    database: await server.newDatabase(),
    dataFolder: "/nowhere",
  });

  describe("Postgres: keys", () => keySuite(newDatabase));
  describe("Postgres: limits", () => limitSuite(newDatabase));
  describe("Postgres: ledger", () => ledgerSuite(newDatabase));
}
