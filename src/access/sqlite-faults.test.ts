import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, onTestFinished, test } from "vitest";
import { backUpDatabase, restoreDatabase } from "./backup.ts";
import { openLedger } from "./ledger.ts";
import type { DatabaseSettings } from "./location.ts";
import { AccessBench, bearer, refusal, settlement } from "./testing/access-bench.ts";
import { firstVersion } from "./testing/first-version.ts";
import { versionSuite } from "./testing/version-suite.ts";

function newSettings(): DatabaseSettings {
  const dataFolder = mkdtempSync(join(tmpdir(), "completionist-access-"));
  onTestFinished(() => rmSync(dataFolder, { recursive: true, force: true }));
  return { database: undefined, dataFolder };
}

const fileOf = (settings: DatabaseSettings) => join(settings.dataFolder, "completionist.db");

function runSql(settings: DatabaseSettings, text: string): void {
  const database = new DatabaseSync(fileOf(settings));
  database.exec(text);
  database.close();
}

describe("a file that somebody else has locked", () => {
  test("refuses as overloaded, says so in its health, and recovers without losing a row", async () => {
    const bench = new AccessBench(newSettings());
    const made = await bench.newKey({ limits: { maxParallel: 1 } });
    const access = await bench.server({ busyTimeoutMs: 20, times: { backlogMs: 10 } });
    const principal = await access.authenticate(bearer(made));
    const reservation = await access.reserve(bench.demand(principal));
    const other = new DatabaseSync(fileOf(bench.settings));
    other.exec("begin immediate");
    const settling = reservation.settle(settlement());
    expect(await refusal(settling)).toMatchObject({
      name: "overloaded",
      retry: { shouldRetry: true, retryAfterMs: 1000 },
    });
    expect(await refusal(access.reserve(bench.demand(principal)))).toMatchObject({
      name: "overloaded",
    });
    expect(access.health().writable).toBe(false);
    expect(access.health().lagMs).toBeGreaterThan(0);
    // Who asks is still known: reading works.
    await access.authenticate(bearer(made));
    const told = (text: string) => expect.poll(() => bench.logged.join()).toContain(text);
    await told("the database takes no writes: requests are refused");
    other.exec("rollback");
    other.close();
    await expect
      .poll(() => access.health())
      .toEqual({ writable: true, lagMs: 0, pendingWrites: 0 });
    await told("the database takes writes again");
    expect((await bench.rows()).map((row) => row.outcome)).toEqual(["completed"]);
    await access.reserve(bench.demand(principal));
  });

  test("is writable again by itself when nothing waits to be written", async () => {
    const bench = new AccessBench(newSettings());
    const access = await bench.server({ busyTimeoutMs: 20, times: { backlogMs: 10 } });
    const principal = await access.authenticate(undefined);
    const other = new DatabaseSync(fileOf(bench.settings));
    other.exec("begin immediate");
    await refusal(access.reserve(bench.demand(principal)));
    other.exec("rollback");
    other.close();
    await expect.poll(() => access.health().writable).toBe(true);
    expect(await bench.rows()).toEqual([]);
  });
});

describe("what cannot be opened is refused in one sentence", () => {
  const open = (settings: DatabaseSettings) => new AccessBench(settings).server();

  test("a folder", async () => {
    const settings = newSettings();
    mkdirSync(fileOf(settings));
    const sentence = /^The database \S+completionist\.db cannot be opened: .*\.$/;
    await expect(open(settings)).rejects.toThrow(sentence);
  });

  test("a file of something else", async () => {
    const settings = newSettings();
    writeFileSync(fileOf(settings), "This is a letter and no database at all, is it? ".repeat(30));
    await expect(open(settings)).rejects.toThrow(/cannot be opened: file is not a database\.$/);
  });

  test("a SQLite database of another program, which is left as it was", async () => {
    const settings = newSettings();
    runSql(settings, "create table photos (id integer); insert into photos values (7)");
    await expect(open(settings)).rejects.toThrow(/it is a SQLite database of another program\.$/);
    const database = new DatabaseSync(fileOf(settings));
    expect(database.prepare("select name from sqlite_master").all()).toEqual([{ name: "photos" }]);
    database.close();
  });

  test("a folder that cannot be made", async () => {
    const settings = newSettings();
    writeFileSync(join(settings.dataFolder, "file"), "");
    const dataFolder = join(settings.dataFolder, "file", "folder");
    await expect(open({ database: undefined, dataFolder })).rejects.toThrow(/ENOTDIR/);
  });

  test("a ledger that is not there yet", async () => {
    await expect(openLedger(newSettings())).rejects.toThrow(/^There is no database at \S+\.$/);
  });
});

test("nobody else may read the files", async () => {
  const parent = newSettings().dataFolder;
  const settings = { database: undefined, dataFolder: join(parent, "a", "b") };
  const bench = new AccessBench(settings);
  const access = await bench.server();
  await access.reserve(bench.demand(await access.authenticate(undefined)));
  const rights = (path: string) => (statSync(path).mode & 0o777).toString(8);
  expect(rights(settings.dataFolder)).toBe("700");
  const files = ["", "-wal", "-shm"].map((end) => fileOf(settings) + end);
  expect(files.map(rights)).toEqual(["600", "600", "600"]);
  expect(rights(`${fileOf(settings)}.servers`)).toBe("700");
});

test("no secret is anywhere in the files", async () => {
  const bench = new AccessBench(newSettings());
  const made = await bench.newKey();
  const access = await bench.server();
  await access.authenticate(bearer(made));
  await access.close();
  expect(readFileSync(fileOf(bench.settings)).includes(made.secret.slice(3, 30))).toBe(false);
});

describe("a backup", () => {
  test("is made while a server runs, and put back when none does", async () => {
    const bench = new AccessBench(newSettings());
    const made = await bench.newKey();
    const access = await bench.server();
    const principal = await access.authenticate(bearer(made));
    const run = async () => (await access.reserve(bench.demand(principal))).settle(settlement());
    await run();
    const open = await access.reserve(bench.demand(principal));
    const file = join(bench.settings.dataFolder, "backup.db");
    await backUpDatabase(bench.settings, file);
    expect((statSync(file).mode & 0o777).toString(8)).toBe("600");
    await expect(backUpDatabase(bench.settings, file)).rejects.toThrow(/a file .* already\.$/);
    await run();
    await open.settle(settlement());
    await expect(restoreDatabase(bench.settings, file)).rejects.toThrow(
      /A server runs on .*: stop/,
    );
    await access.close();
    await restoreDatabase(bench.settings, file);
    const again = await bench.server();
    await again.authenticate(bearer(made));
    // What was open when the backup was made has no server any more.
    expect((await bench.rows()).map((row) => row.outcome)).toEqual(["completed", "lost"]);
  });

  test("goes to a new place too, and nothing but a whole backup of ours goes anywhere", async () => {
    const bench = new AccessBench(newSettings());
    await bench.newKey({ name: "kept" });
    const folder = bench.settings.dataFolder;
    const file = join(folder, "backup.db");
    await backUpDatabase(bench.settings, file);
    const other = { database: join(folder, "other", "place.db"), dataFolder: folder };
    await restoreDatabase(other, file);
    const keys = await new AccessBench(other).keys();
    expect((await keys.list()).map((key) => key.name)).toEqual(["kept"]);

    await expect(restoreDatabase(other, join(folder, "none"))).rejects.toThrow(/no file/);
    const foreign = new DatabaseSync(join(folder, "foreign.db"));
    foreign.exec("create table photos (id integer)");
    foreign.close();
    await expect(restoreDatabase(other, join(folder, "foreign.db"))).rejects.toThrow(
      /cannot be put back: it is no database of this program\.$/,
    );
    const newer = new DatabaseSync(file);
    newer.exec("insert into schema_version values (1000, 0)");
    newer.close();
    await expect(restoreDatabase(other, file)).rejects.toThrow(/newer version/);
    truncateSync(file, 4096 * 3);
    await expect(restoreDatabase(other, file)).rejects.toThrow(/cannot be put back/);
    expect(await keys.list()).toHaveLength(1);
  });

  test("of Postgres is left to its own tools", async () => {
    const settings = { database: "postgres://me:secret@db.example/x", dataFolder: "/nowhere" };
    const failure = backUpDatabase(settings, "/nowhere/b");
    await expect(failure).rejects.toThrow(
      "The database postgres://db.example/x is Postgres; use its own tool: pg_dump " +
        '--format=custom --schema=completionist --file=FILE "$DATABASE_URL", where ' +
        "DATABASE_URL is the address of the database.",
    );
  });
});

describe("versions", () => {
  versionSuite({
    newDatabase: async () => newSettings(),
    runSql: async (settings, text) => runSql(settings, text),
    firstVersion: firstVersion("sqlite"),
    versionTable: "schema_version",
  });

  test("the first step still makes what the first version had", async () => {
    const [first, fresh] = [newSettings(), newSettings()];
    runSql(first, firstVersion("sqlite"));
    const bench = new AccessBench(fresh);
    await (await bench.keys()).close();
    const tables = (settings: DatabaseSettings) => {
      const database = new DatabaseSync(fileOf(settings));
      const rows = database.prepare(
        "select name, lower(sql) as sql from sqlite_master order by name",
      );
      const found = rows.all();
      database.close();
      return found;
    };
    const later = new Set(tables(first).map((row) => row.name));
    expect(tables(fresh).filter((row) => later.has(row.name))).toEqual(tables(first));
  });
});
