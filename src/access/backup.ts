/** Copies of a SQLite database: made while servers run, and put back while none does. */
import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { backup as copyPages, DatabaseSync } from "node:sqlite";
import { type DatabaseLocation, type DatabaseSettings, locateDatabase } from "./location.ts";
import { defaultBusyTimeoutMs, openStore, reasonOf } from "./open-store.ts";
import { schemaName } from "./postgres-store.ts";
import { checkSqlite, connectSqlite } from "./sqlite-connection.ts";
import { someServerLives } from "./sqlite-liveness.ts";
import { DatabaseError } from "./store.ts";

/**
 * Writes the database as it is now into the new file `target`, while servers go on. The file is
 * whole and on the disk when this resolves. Rejects with a DatabaseError.
 */
export async function backUpDatabase(settings: DatabaseSettings, target: string): Promise<void> {
  const location = sqliteOnly(
    settings,
    `pg_dump --format=custom --schema=${schemaName} --file=FILE "$DATABASE_URL"`,
  );
  const file = resolve(target);
  if (existsSync(file)) throw new DatabaseError(`There is a file ${file} already.`);
  const draft = `${file}.${process.pid}.part`;
  rmSync(draft, { force: true });
  const store = await openStore(location, { mustExist: true });
  try {
    closeSync(openSync(draft, "wx", 0o600));
    await store.run("backup", { file: draft });
    flush(draft);
    renameSync(draft, file);
    flush(dirname(file));
  } catch (error) {
    rmSync(draft, { force: true });
    throw new DatabaseError(`The backup ${file} cannot be written: ${reasonOf(error)}.`, {
      cause: error,
    });
  } finally {
    await store.close();
  }
}

/**
 * Makes the database what the backup `source` is, all or nothing. What was there before is gone.
 * Rejects with a DatabaseError: no database of this program, written by a newer one, damaged, or a
 * server lives on the target.
 */
export async function restoreDatabase(settings: DatabaseSettings, source: string): Promise<void> {
  const location = sqliteOnly(
    settings,
    'pg_restore --clean --if-exists --dbname="$DATABASE_URL" FILE',
  );
  const file = resolve(source);
  if (!existsSync(file)) throw new DatabaseError(`There is no file ${file}.`);
  await checkBackup(file);
  if (someServerLives(location.file)) {
    throw new DatabaseError(`A server runs on ${location.shown}: stop it first.`);
  }
  // Makes the file with its rights where there is none, and proves that it can be written.
  await (await openStore(location)).close();
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    // SQLite itself copies the pages, under its locks and with its journal.
    await copyPages(database, location.file, { rate: pagesAtOnce });
  } catch (error) {
    throw new DatabaseError(`The backup cannot be put back: ${reasonOf(error)}.`, { cause: error });
  } finally {
    database.close();
  }
}

/** All pages in one step: nobody sees half of it. */
const pagesAtOnce = 2 ** 31 - 1;

async function checkBackup(file: string): Promise<void> {
  try {
    const connection = connectSqlite({ file, readOnly: true, busyTimeoutMs: defaultBusyTimeoutMs });
    try {
      await checkSqlite(connection);
    } finally {
      connection.close();
    }
    const database = new DatabaseSync(file, { readOnly: true });
    try {
      const [row] = database.prepare("pragma integrity_check(1)").all();
      if (row?.integrity_check !== "ok") throw new Error("it is damaged");
    } finally {
      database.close();
    }
  } catch (error) {
    throw new DatabaseError(`The file ${file} cannot be put back: ${reasonOf(error)}.`, {
      cause: error,
    });
  }
}

function sqliteOnly(settings: DatabaseSettings, tool: string) {
  const location: DatabaseLocation = locateDatabase(settings);
  if (location.kind === "sqlite") return location;
  throw new DatabaseError(
    `The database ${location.shown} is Postgres; use its own tool: ${tool}, where DATABASE_URL ` +
      "is the address of the database.",
  );
}

function flush(path: string): void {
  const descriptor = openSync(path, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
