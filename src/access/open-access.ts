/** Opens the database and everything that keeps it in order while the server runs. */
import type { Access } from "./access.ts";
import { DatabaseAccess } from "./database-access.ts";
import type { Liveness } from "./liveness.ts";
import { type DatabaseLocation, locateDatabase } from "./location.ts";
import { openStore, reasonOf } from "./open-store.ts";
import { PostgresLiveness } from "./postgres-liveness.ts";
import { openSqliteLiveness } from "./sqlite-liveness.ts";
import { DatabaseError } from "./store.ts";
import { type AccessLog, defaultTimes, Upkeep, type UpkeepTimes } from "./upkeep.ts";

export interface AccessOptions {
  /** A SQLite file or a postgres:// URL; undefined: `completionist.db` in the data folder. */
  readonly database: string | undefined;
  readonly dataFolder: string;
  readonly configuredKeys: readonly string[];
  /** undefined: rows are kept for ever. */
  readonly keepUsageDays: number | undefined;
  readonly log: AccessLog;
  /** For tests; by default this machine's clock, and with Postgres the database's. */
  readonly nowMs?: () => number;
  readonly times?: Partial<UpkeepTimes>;
  readonly busyTimeoutMs?: number;
  /** How long a server may be out of touch with Postgres before it counts as dead. */
  readonly graceMs?: number;
}

/** Rejects with a DatabaseError, one sentence for people. */
export async function openAccess(options: AccessOptions): Promise<Access> {
  const { log, keepUsageDays, nowMs, busyTimeoutMs } = options;
  const location = locateDatabase(options);
  const store = await openStore(location, {
    nowMs,
    threads: true,
    ...(busyTimeoutMs === undefined ? {} : { busyTimeoutMs }),
  });
  const liveness = await openLiveness(location, options).catch(async (error: unknown) => {
    await store.close();
    throw error;
  });
  const upkeep = new Upkeep({
    store,
    liveness,
    log,
    nowMs: nowMs ?? Date.now,
    keepUsageDays,
    times: { ...defaultTimes, ...options.times },
  });
  const stop = async () => {
    await upkeep.stop();
    await access.usedKeys.write().catch(() => undefined);
    await access.backlog.retry().catch(() => undefined);
    await store.close();
    // The lock goes last: until here the rows are ours.
    await liveness.close();
  };
  const { configuredKeys } = options;
  const access = new DatabaseAccess({ store, instance: liveness.instance, configuredKeys, stop });
  try {
    await access.refresh();
    await upkeep.settleLost();
    await upkeep.deleteOld();
  } catch (error) {
    await stop();
    throw new DatabaseError(`The database ${location.shown} failed: ${reasonOf(error)}.`, {
      cause: error,
    });
  }
  upkeep.start(access);
  return access;
}

async function openLiveness(
  location: DatabaseLocation,
  { graceMs }: AccessOptions,
): Promise<Liveness> {
  try {
    if (location.kind === "sqlite") return openSqliteLiveness(location.file);
    return await PostgresLiveness.open({
      url: location.url,
      ...(graceMs === undefined ? {} : { graceMs }),
    });
  } catch (error) {
    throw new DatabaseError(
      `The database ${location.shown} cannot be locked for this server: ${reasonOf(error)}.`,
      { cause: error },
    );
  }
}
