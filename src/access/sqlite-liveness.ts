/**
 * Liveness by lock files beside the SQLite file: each process keeps a tiny SQLite file of its own
 * locked. The lock is the operating system's, so it ends with the process, kill -9 included.
 */
import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, realpathSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Liveness } from "./liveness.ts";
import { isBusy } from "./sqlite-errors.ts";

/** The folder of lock files of a database file, which must exist. */
export const serversFolder = (file: string): string => `${realpathSync(file)}.servers`;

/** Takes the lock of a new instance, and removes lock files that dead ones left behind. */
export function openSqliteLiveness(databaseFile: string): Liveness {
  const folder = serversFolder(databaseFile);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const { instance, lock } = takeNew(folder);
  for (const other of readdirSync(folder)) {
    if (other !== instance) removeIfDead(join(folder, other));
  }
  return {
    instance,
    deadOf: async (instances) =>
      instances.filter((id) => id !== instance && !holds(join(folder, id))),
    forget: async (id) => removeIfDead(join(folder, id)),
    close: async () => {
      rmSync(join(folder, instance), { force: true });
      lock.close();
    },
  };
}

/** Whether any server process lives on the database. */
export function someServerLives(databaseFile: string): boolean {
  if (!existsSync(databaseFile)) return false;
  const folder = serversFolder(databaseFile);
  if (!existsSync(folder)) return false;
  return readdirSync(folder).some((id) => holds(join(folder, id)));
}

function takeNew(folder: string): { readonly instance: string; readonly lock: DatabaseSync } {
  for (;;) {
    const instance = randomUUID();
    const file = join(folder, instance);
    const lock = new DatabaseSync(file, { timeout: 0 });
    try {
      lock.exec("begin exclusive");
      // Somebody who cleaned up may have removed the file before it was locked.
      if (statSync(file, { throwIfNoEntry: false }) !== undefined) return { instance, lock };
    } catch (error) {
      if (!isBusy(error)) {
        lock.close();
        throw error;
      }
    }
    lock.close();
  }
}

/** Whether somebody holds the lock. A file that is gone is held by nobody. */
function holds(file: string): boolean {
  if (!existsSync(file)) return false;
  const probe = probeOf(file);
  probe?.close();
  return probe === undefined;
}

/** The file is removed while it is locked: nobody can take it in between. */
function removeIfDead(file: string): void {
  try {
    if (!existsSync(file)) return;
    const probe = probeOf(file);
    if (probe === undefined) return;
    rmSync(file, { force: true });
    probe.close();
  } catch {
    // It stays, as on systems that keep open files; the next server tries again.
  }
}

/** The file locked by us; undefined when somebody else holds it. */
function probeOf(file: string): DatabaseSync | undefined {
  const probe = new DatabaseSync(file, { timeout: 0 });
  try {
    probe.exec("begin exclusive");
    return probe;
  } catch (error) {
    probe.close();
    if (isBusy(error)) return undefined;
    throw error;
  }
}
