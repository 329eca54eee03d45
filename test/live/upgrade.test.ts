/** Databases of other versions under the whole program: nothing of an older one is lost. */
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { openKeyStore } from "../../src/access/key-store.ts";
import { openLedger } from "../../src/access/ledger.ts";
import { schemaVersion } from "../../src/access/migrate.ts";
import {
  firstVersion,
  firstVersionRows,
  firstVersionSecret,
} from "../../src/access/testing/first-version.ts";
import { tinyGgufFile } from "../../src/llama/testing/tiny-gguf.ts";
import { startServer } from "../support/server-process.ts";

function newFolder() {
  const folder = mkdtempSync(join(tmpdir(), "completionist-upgrade-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  // The key of the first version may use a model of this name.
  const model = join(folder, "tiny.gguf");
  copyFileSync(tinyGgufFile(), model);
  const options = ["--model", model, "--threads", "1", "--slots", "2", "--data", folder];
  return { settings: { database: undefined, dataFolder: folder }, options };
}

function withDatabase<Result>(folder: string, work: (database: DatabaseSync) => Result): Result {
  const database = new DatabaseSync(join(folder, "completionist.db"));
  try {
    return work(database);
  } finally {
    database.close();
  }
}

const tables = ["keys", "requests", "month_usage"] as const;

const allRows = (database: DatabaseSync) =>
  Object.fromEntries(
    tables.map((table) => [table, database.prepare(`select * from ${table} order by 1`).all()]),
  );

test("a server serves on a database of the first version, whose rows all stay", async () => {
  const { settings, options } = newFolder();
  const before = withDatabase(settings.dataFolder, (database) => {
    database.exec(firstVersion("sqlite"));
    return allRows(database);
  });
  const server = await startServer(options);
  const headers = { authorization: `Bearer ${firstVersionSecret}` };
  const answer = await fetch(`${server.url}/v1/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify({ prompt: "a", max_tokens: 2, ignore_eos: true }),
  });
  expect(answer.status).toBe(200);
  const usage = await fetch(`${server.url}/v1/usage?by=user`, { headers });
  expect(await usage.json()).toMatchObject({
    data: expect.arrayContaining([expect.objectContaining({ user: "ann", requests: 2 })]),
  });
  expect((await fetch(`${server.url}/v1/models`)).status).toBe(401);
  expect(await server.stop()).toBe(0);

  const after = withDatabase(settings.dataFolder, allRows);
  const [open, ...closed] = (before.requests ?? []).toReversed();
  expect(after.requests).toHaveLength(6);
  expect(after.requests?.slice(0, 4)).toEqual(closed.toReversed());
  expect(after.requests?.[4]).toEqual({ ...open, outcome: "lost", charged_tokens: 100 });
  for (const [place, key] of (before.keys ?? []).entries()) {
    const kept = { ...key, last_used_ms: expect.anything() };
    expect(after.keys?.[place]).toMatchObject(key.revoked_ms === null ? kept : key);
  }
  const month = after.month_usage?.find((row) => row.month === "2026-05" && row.end_user === "");
  expect(month).toMatchObject({ reserved: 0, used: 950_100 });
});

test("commands see the keys and rows of a database of the first version", async () => {
  const { settings } = newFolder();
  withDatabase(settings.dataFolder, (database) => database.exec(firstVersion("sqlite")));
  const keys = await openKeyStore(settings, { mustExist: true });
  expect((await keys.list()).map((key) => key.name)).toEqual(["app", "gone"]);
  await keys.close();
  const ledger = await openLedger(settings);
  const ids: string[] = [];
  for await (const row of ledger.rows()) ids.push(row.completionId);
  await ledger.close();
  // The last is open until a server closes it.
  expect(ids).toEqual(firstVersionRows.slice(0, 4).map((row) => row.completionId));
});

test("a database of a newer version ends the start with one line, and stays as it is", async () => {
  const { settings, options } = newFolder();
  const newer = schemaVersion + 1;
  const before = withDatabase(settings.dataFolder, (database) => {
    database.exec(firstVersion("sqlite"));
    database.exec(`insert into schema_version values (${newer}, 0)`);
    return allRows(database);
  });
  await expect(startServer(options)).rejects.toThrow(
    new RegExp(
      `completionist: [^\\n]*completionist\\.db[^\\n]*newer version[^\\n]*${newer}[^\\n]*\\n$`,
    ),
  );
  expect(withDatabase(settings.dataFolder, allRows)).toEqual(before);
});
