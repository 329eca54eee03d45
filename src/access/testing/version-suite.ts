/** Databases of other versions of the program: the same tests on every database. */
import { expect, test } from "vitest";
import type { DatabaseSettings } from "../location.ts";
import { schemaVersion } from "../migrate.ts";
import { AccessBench, settlement } from "./access-bench.ts";
import { firstVersionRows, firstVersionSecret } from "./first-version.ts";

export interface VersionSuiteParts {
  /** An empty database, and a way to run statements on it. */
  newDatabase(): Promise<DatabaseSettings>;
  runSql(settings: DatabaseSettings, text: string): Promise<void>;
  readonly firstVersion: string;
  /** Where the table of versions is. */
  readonly versionTable: string;
}

export function versionSuite(parts: VersionSuiteParts): void {
  test("a database of the first version is opened, and every row is kept", async () => {
    const settings = await parts.newDatabase();
    await parts.runSql(settings, parts.firstVersion);
    const bench = new AccessBench(settings);
    const access = await bench.server();
    expect(await bench.rows()).toMatchObject(firstVersionRows);
    expect(await (await bench.keys()).list()).toMatchObject([
      {
        name: "app",
        models: ["tiny", "base"],
        expiresMs: 4_102_444_800_000,
        limits: {
          requestsPerMinute: 600,
          tokensPerMinute: 90_000,
          tokensPerMonth: 1_000_000,
          maxParallel: 8,
          userRequestsPerMinute: 60,
          userTokensPerMinute: 9_000,
          userTokensPerMonth: 100_000,
          userMaxParallel: 2,
        },
      },
      { name: "gone", revokedMs: 1_780_000_000_005, limits: {} },
    ]);
    const store = await bench.store();
    // 950,000 used, and 100 that were reserved when the server died.
    bench.clock.ms = Date.UTC(2026, 4, 28, 23);
    const principal = await access.authenticate(`Bearer ${firstVersionSecret}`);
    const room = 1_000_000 - 950_100;
    const over = { user: undefined, promptTokens: room + 1, completionTokensMax: 0 };
    const reserve = (demand: typeof over) =>
      store.run("admit", {
        ...bench.demand(principal, demand),
        instance: "test",
        keyId: principal.keyId,
        keyName: "app",
        endUser: null,
      });
    expect(await reserve(over)).toMatchObject({
      refusal: { name: "tokensPerMonth", used: 950_100 },
    });
    const reservation = await access.reserve(bench.demand(principal));
    await reservation.settle(settlement());
    expect((await bench.rows()).at(-1)).toMatchObject({ id: 6, outcome: "completed" });
  });

  test("a database of a newer version is refused in one sentence", async () => {
    const settings = await parts.newDatabase();
    const bench = new AccessBench(settings);
    await (await bench.server()).close();
    const newer = schemaVersion + 1;
    await parts.runSql(settings, `insert into ${parts.versionTable} values (${newer}, 0)`);
    await expect(bench.server()).rejects.toThrow(
      new RegExp(
        `^The database .* cannot be opened: it was written by a newer version.*${newer}.*\\.$`,
      ),
    );
  });

  test("many that open an empty database at once make its tables once", async () => {
    const bench = new AccessBench(await parts.newDatabase());
    const servers = await Promise.all(Array.from({ length: 4 }, () => bench.server()));
    expect(servers.map((server) => server.keysInUse)).toEqual([false, false, false, false]);
  });
}
