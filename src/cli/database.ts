/** `completionist database`: copies of the database, old rows, and what it holds. */
import { resolve } from "node:path";
import { backUpDatabase, restoreDatabase } from "../access/backup.ts";
import { type DatabaseFacts, readDatabaseFacts } from "../access/database-facts.ts";
import { pruneUsage } from "../access/prune.ts";
import type { LoadedConfiguration } from "../config/load.ts";
import { megabytes } from "../models/progress.ts";
import { databaseOf, isoText, wrongValue } from "./data-settings.ts";
import { print } from "./print.ts";
import { labelledLines, printableJson } from "./text-columns.ts";

/** Writes a copy and prints its path. */
export async function backUp(loaded: LoadedConfiguration, file: string): Promise<number> {
  await backUpDatabase(databaseOf(loaded), file);
  await print([`${resolve(file)}\n`]);
  return 0;
}

/** Puts a copy back and tells what is there now. */
export async function restore(loaded: LoadedConfiguration, file: string): Promise<number> {
  const settings = databaseOf(loaded);
  await restoreDatabase(settings, file);
  await print(factLines(await readDatabaseFacts(settings)));
  return 0;
}

const keepDaysMax = 36_500;

/** Deletes rows of requests that are older, and tells how many. */
export async function pruneRows(
  loaded: LoadedConfiguration,
  { keep }: { readonly keep: string },
): Promise<number> {
  const days = /^\d{1,5}$/.test(keep) ? Number(keep) : Number.NaN;
  if (!(days >= 1 && days <= keepDaysMax)) {
    throw wrongValue("--keep", `expected a number of days from 1 to ${keepDaysMax}, got "${keep}"`);
  }
  const rows = await pruneUsage(databaseOf(loaded), days);
  await print([`deleted ${rows} ${rows === 1 ? "row" : "rows"}\n`]);
  return 0;
}

/** Tells where the database is and what is in it. */
export async function showFacts(
  loaded: LoadedConfiguration,
  { json }: { readonly json?: boolean },
): Promise<number> {
  const facts = await readDatabaseFacts(databaseOf(loaded));
  await print(json ? [`${printableJson(factsJson(facts))}\n`] : factLines(facts));
  return 0;
}

const time = (ms: number | undefined): string | null => (ms === undefined ? null : isoText(ms));

function factsJson(facts: DatabaseFacts): object {
  return {
    kind: facts.kind,
    database: facts.shown,
    bytes: facts.bytes ?? null,
    version: facts.version,
    served: facts.served ?? null,
    keys: facts.keys,
    ended_keys: facts.endedKeys,
    requests: facts.requests,
    running_requests: facts.openRequests,
    oldest_request: time(facts.oldestMs),
    newest_request: time(facts.newestMs),
  };
}

function factLines(facts: DatabaseFacts): readonly string[] {
  const { bytes, served, oldestMs, newestMs } = facts;
  const size = bytes === undefined ? "" : `, ${megabytes(bytes)}`;
  return labelledLines([
    ["database", facts.shown],
    ["kind", `${facts.kind === "sqlite" ? "SQLite" : "Postgres"}, version ${facts.version}${size}`],
    ["server", served === undefined ? undefined : served ? "runs on it" : "none runs on it"],
    ["keys", `${facts.keys} active, ${facts.endedKeys} expired or revoked`],
    ["requests", `${facts.requests} ended, ${facts.openRequests} running`],
    ["from", oldestMs === undefined ? undefined : isoText(oldestMs)],
    ["until", newestMs === undefined ? undefined : isoText(newestMs)],
  ]);
}
