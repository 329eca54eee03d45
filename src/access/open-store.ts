/** Opens the database that the settings name. */
import { closeSync, existsSync, mkdirSync, openSync, statSync } from "node:fs";
import { dirname } from "node:path";
import type { DatabaseLocation } from "./location.ts";
import { PostgresStore } from "./postgres-store.ts";
import { SqliteStore } from "./sqlite-store.ts";
import { DatabaseError, type Store } from "./store.ts";

export interface OpenStoreOptions {
  /** How long a SQLite file may be locked by another process that writes; default 5 s. */
  readonly busyTimeoutMs?: number;
  /** For tests: the time that operations go by. */
  readonly nowMs?: (() => number) | undefined;
  /** For servers: a SQLite file gets threads of its own, so that the calling one never waits. */
  readonly threads?: boolean;
  /** Refuses to make a database that is not there. */
  readonly mustExist?: boolean;
}

export const defaultBusyTimeoutMs = 5_000;

/** Rejects with a DatabaseError, one sentence for people. */
export async function openStore(
  location: DatabaseLocation,
  options: OpenStoreOptions = {},
): Promise<Store> {
  const {
    busyTimeoutMs = defaultBusyTimeoutMs,
    nowMs,
    mustExist = false,
    threads = false,
  } = options;
  if (location.kind === "sqlite" && mustExist && isMissing(location.file)) {
    throw new DatabaseError(`There is no database at ${location.shown}.`);
  }
  try {
    if (location.kind === "postgres") {
      return await PostgresStore.open({ url: location.url, nowMs });
    }
    prepareFile(location.file);
    return await SqliteStore.open({ file: location.file, busyTimeoutMs, nowMs, threads });
  } catch (error) {
    throw new DatabaseError(
      `The database ${location.shown} cannot be opened: ${reasonOf(error)}.`,
      { cause: error },
    );
  }
}

/** Not so where the folder keeps its contents to itself: opening the file then tells why. */
function isMissing(file: string): boolean {
  try {
    return statSync(file, { throwIfNoEntry: false }) === undefined;
  } catch {
    return false;
  }
}

/** Nobody else may read it: it tells who used what. SQLite gives its side files the same rights. */
function prepareFile(file: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  if (!existsSync(file)) closeSync(openSync(file, "a", 0o600));
}

export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0]);
  const text = error instanceof Error ? error.message : String(error);
  return text.replace(/\.$/, "") || "it does not say why";
}
