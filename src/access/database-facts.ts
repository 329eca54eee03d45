/** What the database is and holds: for people who look after it. */
import { statSync } from "node:fs";
import { type DatabaseSettings, locateDatabase } from "./location.ts";
import { openStore } from "./open-store.ts";
import type { DatabaseCounts } from "./operations/facts.ts";
import { someServerLives } from "./sqlite-liveness.ts";

export interface DatabaseFacts extends DatabaseCounts {
  readonly kind: "sqlite" | "postgres";
  /** The file, or the address without user and password. */
  readonly shown: string;
  /** Of the file and its log; undefined with Postgres. */
  readonly bytes: number | undefined;
  /** Whether a server runs on it; undefined with Postgres. */
  readonly served: boolean | undefined;
}

/** Rejects with a DatabaseError, also when there is no database yet. */
export async function readDatabaseFacts(settings: DatabaseSettings): Promise<DatabaseFacts> {
  const location = locateDatabase(settings);
  const store = await openStore(location, { mustExist: true });
  try {
    const counts = await store.run("countAll", undefined);
    const { kind, shown } = location;
    if (kind === "postgres") {
      return { kind, shown, bytes: undefined, served: undefined, ...counts };
    }
    const bytes = bytesOf(location.file) + bytesOf(`${location.file}-wal`);
    return { kind, shown, bytes, served: someServerLives(location.file), ...counts };
  } finally {
    await store.close();
  }
}

const bytesOf = (file: string): number => statSync(file, { throwIfNoEntry: false })?.size ?? 0;
