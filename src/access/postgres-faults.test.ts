import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PostgresLiveness } from "./postgres-liveness.ts";
import { AccessBench, bearer, refusal, settlement } from "./testing/access-bench.ts";
import { firstVersion } from "./testing/first-version.ts";
import {
  type PostgresServer,
  postgresPrograms,
  runSql,
  startPostgres,
} from "./testing/postgres-server.ts";
import { versionSuite } from "./testing/version-suite.ts";

const programs = postgresPrograms();

if (programs === undefined) {
  const missing = "POSTGRES IS NOT INSTALLED: no fault of it was tested";
  console.warn(missing);
  test.skip(missing, () => undefined);
} else {
  postgresFaults(programs);
}

function postgresFaults(folder: string): void {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres(folder);
  }, 120_000);
  afterAll(() => server.remove());

  const newSettings = async () => ({
    database: await server.newDatabase(),
    dataFolder: "/nowhere",
  });

  test("Postgres away: overloaded, then everything again and no row lost", async () => {
    const bench = new AccessBench(await newSettings());
    const made = await bench.newKey();
    const access = await bench.server({ times: { backlogMs: 20, lostMs: 20 }, graceMs: 60_000 });
    const other = await bench.server({ times: { lostMs: 20 }, graceMs: 60_000 });
    const principal = await access.authenticate(bearer(made));
    const [one, two] = [
      await access.reserve(bench.demand(principal)),
      await access.reserve(bench.demand(principal)),
    ];
    await server.stop();
    expect(await refusal(one.settle(settlement()))).toMatchObject({ name: "overloaded" });
    expect(await refusal(access.authenticate(bearer(made)))).toMatchObject({ name: "overloaded" });
    expect(await refusal(access.reserve(bench.demand(principal)))).toMatchObject({
      name: "overloaded",
    });
    expect(access.health().writable).toBe(false);
    await server.start();
    const well = { writable: true, lagMs: 0, pendingWrites: 0 };
    await expect.poll(() => access.health(), { timeout: 10_000 }).toEqual(well);
    await two.settle(settlement());
    await (await other.reserve(bench.demand(principal))).settle(settlement());
    const outcomes = (await bench.rows()).map((row) => row.outcome);
    expect(outcomes).toEqual(["completed", "completed", "completed"]);
  });

  test("a server whose lock connection dropped takes its lock back before it counts as dead", async () => {
    const url = await server.newDatabase();
    const first = await PostgresLiveness.open({ url });
    const second = await PostgresLiveness.open({ url, graceMs: 0 });
    const patient = await PostgresLiveness.open({ url, graceMs: 60_000 });
    expect(await second.deadOf([first.instance, second.instance])).toEqual([]);
    await runSql(
      url,
      `select pg_terminate_backend(pid) from pg_locks
       where locktype = 'advisory' and pid <> pg_backend_pid() order by pid limit 1`,
    );
    // It is free now, but not for long enough.
    expect(await patient.deadOf([first.instance])).toEqual([]);
    await expect.poll(async () => second.deadOf([first.instance]).catch(() => "away")).toEqual([]);
    await first.close();
    await expect.poll(async () => second.deadOf([first.instance])).toEqual([first.instance]);
    expect(await patient.deadOf([first.instance])).toEqual([]);
    await second.close();
    await patient.close();
  });

  test("a database that cannot be reached is told without its password", async () => {
    const database = "postgres://me:secret@127.0.0.1:1/x";
    const opening = new AccessBench({ database, dataFolder: "/nowhere" }).server();
    const failure = await opening.catch((error: Error) => error.message);
    expect(failure).toMatch(/^The database postgres:\/\/127\.0\.0\.1:1\/x cannot be opened: .*\.$/);
    expect(failure).not.toContain("secret");
  });

  test("tables of another program in the same database are left alone", async () => {
    const bench = new AccessBench(await newSettings());
    await runSql(
      bench.settings.database ?? "",
      "create table keys (id int); insert into keys values (7)",
    );
    await bench.newKey();
    expect(await runSql(bench.settings.database ?? "", "select * from keys")).toEqual([{ id: 7 }]);
  });

  describe("versions", () => {
    versionSuite({
      newDatabase: newSettings,
      runSql: async (settings, text) => {
        await runSql(settings.database ?? "", text);
      },
      firstVersion: firstVersion("postgres"),
      versionTable: "completionist.schema_version",
    });
  });
}
