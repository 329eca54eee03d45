/** The ledger: the same tests on every database. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { readDatabaseFacts } from "../database-facts.ts";
import type { DatabaseSettings } from "../location.ts";
import { pruneUsage } from "../prune.ts";
import { AccessBench, bearer, settlement, startMs } from "./access-bench.ts";

const dayMs = 86_400_000;

export function ledgerSuite(newDatabase: () => Promise<DatabaseSettings>): void {
  const newBench = async () => new AccessBench(await newDatabase());

  test("a settled request is a row with all that is known of it", async () => {
    const bench = await newBench();
    const made = await bench.newKey();
    const access = await bench.server();
    const principal = await access.authenticate(bearer(made));
    const demand = bench.demand(principal, { user: "ann", candidates: 3 });
    const reservation = await access.reserve(demand);
    expect(await bench.rows()).toEqual([]);
    await reservation.settle({
      outcome: "failed",
      error: "server",
      promptTokens: 10,
      cachedTokens: 8,
      completionTokens: 20,
      admittedMs: 1.4,
      firstTokenMs: 2.6,
      durationMs: 7,
    });
    expect(await bench.rows()).toEqual([
      {
        id: 1,
        completionId: demand.completionId,
        requestId: demand.requestId,
        keyId: made.key.id,
        keyName: "app",
        user: "ann",
        model: "tiny",
        candidates: 3,
        promptTokens: 10,
        cachedTokens: 8,
        completionTokens: 20,
        reservedTokens: 100,
        chargedTokens: 30,
        createdMs: startMs,
        admittedMs: 1,
        firstTokenMs: 3,
        durationMs: 7,
        outcome: "failed",
        error: "server",
      },
    ]);
  });

  test("it is kept without keys too, and settling again changes nothing", async () => {
    const bench = await newBench();
    const access = await bench.server();
    const principal = await access.authenticate(undefined);
    const reservation = await access.reserve(bench.demand(principal));
    await reservation.settle(settlement({ completionTokens: 5 }));
    await reservation.settle(settlement({ completionTokens: 50 }));
    const [row, ...more] = await bench.rows();
    expect(more).toEqual([]);
    expect(row).toMatchObject({ keyId: undefined, keyName: "", completionTokens: 5 });
    const store = await bench.store();
    const input = { keyId: undefined, marks: [], heldMs: 0, settlement: settlement() };
    const completionId = row?.completionId ?? "";
    expect(await store.run("settle", { ...input, completionId })).toBe("before");
    expect(await store.run("settle", { ...input, completionId: "cmpl-0" })).toBe("missing");
    expect(await access.usage(principal, { by: [] })).toEqual([
      { requests: 1, promptTokens: 10, cachedTokens: 0, completionTokens: 5 },
    ]);
  });

  test("usage is summed by day, key, model and user, and a key sees only its own", async () => {
    const bench = await newBench();
    const made = [await bench.newKey({ name: "a" }), await bench.newKey({ name: "b" })];
    const access = await bench.server();
    const [a, b] = await Promise.all(made.map((each) => access.authenticate(bearer(each))));
    if (a === undefined || b === undefined) throw new Error("There are two keys.");
    const runs = [
      { principal: a, user: "ann", model: "m1" },
      { principal: a, user: "bob", model: "m1" },
      { principal: a, user: "ann", model: "m2" },
      { principal: b, user: "ann", model: "m1" },
    ];
    for (const run of runs) {
      await (await access.reserve(bench.demand(run.principal, run))).settle(settlement());
      bench.clock.ms += dayMs;
    }
    const sums = { requests: 1, promptTokens: 10, cachedTokens: 0, completionTokens: 20 };
    const twice = { requests: 2, promptTokens: 20, cachedTokens: 0, completionTokens: 40 };
    expect(await access.usage(a, { by: ["model"] })).toEqual([
      { model: "m1", ...twice },
      { model: "m2", ...sums },
    ]);
    expect(await access.usage(a, { by: ["day"], fromMs: startMs + dayMs })).toEqual([
      { day: "2026-06-16", ...sums },
      { day: "2026-06-17", ...sums },
    ]);
    expect(await access.usage(b, { by: ["user"] })).toEqual([{ user: "ann", ...sums }]);
    const ledger = await bench.ledger();
    expect(await ledger.usage({ by: ["key"], untilMs: startMs + 2 * dayMs })).toEqual([
      { key: "a", keyId: a.keyId, ...twice },
    ]);
    expect(await ledger.usage({ by: ["key", "user"] }, b)).toEqual([
      { key: "b", keyId: b.keyId, user: "ann", ...sums },
    ]);
  });

  test("rows of keys that are not of the database are found by the name they carry", async () => {
    const bench = await newBench();
    const access = await bench.server({ configuredKeys: ["first-key", "second-key"] });
    const second = await access.authenticate("Bearer second-key");
    const first = await access.authenticate("Bearer first-key");
    for (const principal of [first, second, second]) {
      await (await access.reserve(bench.demand(principal))).settle(settlement());
    }
    const owner = { keyId: undefined, name: "configured-2" };
    const ledger = await bench.ledger();
    expect(await ledger.usage({ by: ["key"] }, owner)).toMatchObject([{ requests: 2 }]);
    const rows = await Array.fromAsync(ledger.rows({ owner }));
    expect(rows.map((row) => row.keyName)).toEqual(["configured-2", "configured-2"]);
  });

  test("facts and pruning, as the command line asks for them", async () => {
    const bench = await newBench();
    await expect(pruneUsage({ ...bench.settings, database: "/nowhere/x" }, 1)).rejects.toThrow(
      "There is no database at /nowhere/x.",
    );
    const made = await bench.newKey();
    const keys = await bench.keys();
    await keys.create({ name: "gone" });
    await keys.revoke("gone");
    bench.clock.ms = Date.now() - 3 * dayMs;
    const access = await bench.server();
    const principal = await access.authenticate(bearer(made));
    const old = bench.clock.ms;
    await (await access.reserve(bench.demand(principal))).settle(settlement());
    bench.clock.ms += 2 * dayMs;
    await (await access.reserve(bench.demand(principal))).settle(settlement());
    const open = await access.reserve(bench.demand(principal));
    const { shown, bytes, served, kind, ...counts } = await readDatabaseFacts(bench.settings);
    expect(counts).toEqual({
      version: 1,
      keys: 1,
      endedKeys: 1,
      requests: 2,
      openRequests: 1,
      oldestMs: old,
      newestMs: old + 2 * dayMs,
    });
    expect(shown).not.toContain("@");
    expect(bytes === undefined ? kind : bytes > 4096).toBe(kind === "postgres" ? kind : true);
    expect(served).toBe(kind === "postgres" ? undefined : true);
    expect(await pruneUsage(bench.settings, 2)).toBe(1);
    expect(await pruneUsage(bench.settings, 2)).toBe(0);
    expect(await bench.rows()).toMatchObject([{ createdMs: old + 2 * dayMs }]);
    await open.settle(settlement());
  });

  test("rows are read in pages, from any row on", async () => {
    const bench = await newBench();
    const access = await bench.server();
    const principal = await access.authenticate(undefined);
    const run = async () => (await access.reserve(bench.demand(principal))).settle(settlement());
    await Promise.all(Array.from({ length: 30 }, run));
    const store = await bench.store();
    const page = await store.run("listRequests", { afterId: 5, rowsMax: 10 });
    expect(page.map((row) => row.id)).toEqual([6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);
    expect((await bench.rows()).map((row) => row.id)).toEqual(
      [...Array(30).keys()].map((i) => i + 1),
    );
  });

  test("old rows are deleted, and the quota of the month does not change by that", async () => {
    const bench = await newBench();
    const made = await bench.newKey({ limits: { tokensPerMonth: 120 } });
    const first = await bench.server();
    const principal = await first.authenticate(bearer(made));
    await (await first.reserve(bench.demand(principal))).settle(settlement());
    const stillOpen = await first.reserve(
      bench.demand(principal, { promptTokens: 1, completionTokensMax: 1 }),
    );
    bench.clock.ms += 3 * dayMs;
    const second = await bench.server({ keepUsageDays: 2 });
    expect(await bench.rows()).toEqual([]);
    await expect(second.reserve(bench.demand(principal))).rejects.toThrow("quota");
    await stillOpen.settle(settlement({ promptTokens: 1, completionTokens: 0 }));
    expect(await bench.rows()).toHaveLength(1);
  });

  test("a server that is killed loses no row: the next one charges what was reserved", async () => {
    const bench = await newBench();
    const made = await bench.newKey({ limits: { tokensPerMonth: 250, maxParallel: 2 } });
    const child = spawn(
      process.execPath,
      [
        fileURLToPath(new URL("./holding-process.ts", import.meta.url)),
        JSON.stringify({ settings: bench.settings, nowMs: bench.clock.ms, secret: made.secret }),
      ],
      { stdio: ["ignore", "pipe", "inherit"] },
    );
    onTestFinished(() => void child.kill("SIGKILL"));
    await once(child.stdout, "data");
    const living = await bench.server({ times: { lostMs: 20 } });
    const principal = await living.authenticate(bearer(made));
    // Both places are taken while the other server lives.
    const small = { promptTokens: 1, completionTokensMax: 1 };
    const third = living.reserve(bench.demand(principal, small));
    await expect(third).rejects.toThrow("parallel requests");
    child.kill("SIGKILL");
    await expect.poll(async () => (await bench.rows()).length, { timeout: 10_000 }).toBe(2);
    expect((await bench.rows())[0]).toMatchObject({
      outcome: "lost",
      promptTokens: 10,
      completionTokens: undefined,
      reservedTokens: 100,
      chargedTokens: 100,
    });
    await expect(living.reserve(bench.demand(principal))).rejects.toThrow("quota");
    const rest = { promptTokens: 50, completionTokensMax: 0 };
    await living.reserve(bench.demand(principal, rest));
    expect(bench.logged).toContain("a server died: its requests were settled as lost");
  });

  test("rows of a server that lives are left alone by every other one", async () => {
    const bench = await newBench();
    const first = await bench.server();
    const principal = await first.authenticate(undefined);
    const reservation = await first.reserve(bench.demand(principal));
    for (let index = 0; index < 3; index += 1) await (await bench.server()).close();
    expect(await bench.rows()).toEqual([]);
    await reservation.settle(settlement());
    expect((await bench.rows()).map((row) => row.outcome)).toEqual(["completed"]);
  });

  test("a server that was taken for dead corrects its rows when it settles them", async () => {
    const bench = await newBench();
    const made = await bench.newKey({ limits: { tokensPerMonth: 130 } });
    const access = await bench.server();
    const principal = await access.authenticate(bearer(made));
    const reservation = await access.reserve(bench.demand(principal));
    const store = await bench.store();
    for (const instance of await store.run("openInstances", undefined)) {
      await store.run("settleLost", { instance });
    }
    expect((await bench.rows())[0]?.outcome).toBe("lost");
    await reservation.settle(settlement());
    expect((await bench.rows())[0]).toMatchObject({ outcome: "completed", chargedTokens: 30 });
    await access.reserve(bench.demand(principal));
  });

  test("closing waits for what is being written", async () => {
    const bench = await newBench();
    const access = await bench.server();
    const principal = await access.authenticate(undefined);
    const reservation = await access.reserve(bench.demand(principal));
    const settling = reservation.settle(settlement());
    expect(access.health()).toMatchObject({ writable: true, pendingWrites: 1 });
    await access.close();
    await settling;
    expect(await bench.rows()).toHaveLength(1);
    expect(access.health()).toMatchObject({ lagMs: 0, pendingWrites: 0 });
  });
}
