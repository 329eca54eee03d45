/** What a server does beside its requests: dead servers' rows, revoked keys, old rows, late writes. */
import type { Log } from "../observe/log.ts";
import type { DatabaseAccess } from "./database-access.ts";
import type { Liveness } from "./liveness.ts";
import { dayMs, deleteRowsBefore } from "./prune.ts";
import { type Repeating, repeat } from "./repeating.ts";
import type { Store } from "./store.ts";

export type AccessLog = Pick<Log, "info" | "warn" | "error">;

/** How often each part is done. */
export interface UpkeepTimes {
  /** Looking whether keys of running requests still hold. */
  readonly keysMs: number;
  /** Writing down when keys were used. */
  readonly usedKeysMs: number;
  /** Trying again what could not be written. */
  readonly backlogMs: number;
  /** Looking for servers that died. */
  readonly lostMs: number;
  /** Deleting what is old. */
  readonly oldRowsMs: number;
}

export const defaultTimes: UpkeepTimes = {
  keysMs: 500,
  usedKeysMs: 5_000,
  backlogMs: 1_000,
  lostMs: 10_000,
  oldRowsMs: 3_600_000,
};

export interface UpkeepOptions {
  readonly store: Store;
  readonly liveness: Liveness;
  readonly log: AccessLog;
  readonly nowMs: () => number;
  readonly keepUsageDays: number | undefined;
  readonly times: UpkeepTimes;
}

export class Upkeep {
  readonly #options: UpkeepOptions;
  readonly #repeating: Repeating[] = [];
  #failing = false;

  constructor(options: UpkeepOptions) {
    this.#options = options;
  }

  start(access: DatabaseAccess): void {
    const { times } = this.#options;
    const every = (ms: number, work: () => Promise<void>) => {
      this.#repeating.push(repeat(ms, work, () => undefined));
    };
    every(times.keysMs, () => access.running.check());
    every(times.usedKeysMs, () => access.usedKeys.write());
    every(times.lostMs, () => this.settleLost());
    every(times.oldRowsMs, () => this.deleteOld());
    every(times.backlogMs, async () => {
      // Before, too: what is tried again may wait for seconds.
      this.#tellWritable(access);
      try {
        await access.backlog.retry();
      } finally {
        this.#tellWritable(access);
      }
    });
  }

  async stop(): Promise<void> {
    await Promise.all(this.#repeating.map((each) => each.stop()));
  }

  /** Closes the rows of servers that died. */
  async settleLost(): Promise<void> {
    const { store, liveness, log } = this.#options;
    const open = await store.run("openInstances", undefined);
    const others = open.filter((instance) => instance !== liveness.instance);
    if (others.length === 0) return;
    for (const instance of await liveness.deadOf(others)) {
      let rows = 0;
      for (;;) {
        const settled = await store.run("settleLost", { instance });
        if (settled === 0) break;
        rows += settled;
      }
      await liveness.forget(instance);
      if (rows > 0) log.warn({ rows }, "a server died: its requests were settled as lost");
    }
  }

  async deleteOld(): Promise<void> {
    const { store, keepUsageDays, nowMs, log } = this.#options;
    await store.run("tidy", undefined);
    if (keepUsageDays === undefined) return;
    const beforeMs = nowMs() - keepUsageDays * dayMs;
    const rows = await deleteRowsBefore(store, beforeMs);
    if (rows > 0) log.info({ rows }, "old rows of the usage ledger were deleted");
  }

  /** One line when writing begins to fail, and one when it works again. */
  #tellWritable(access: DatabaseAccess): void {
    const { log } = this.#options;
    const { writable, pendingWrites } = access.health();
    if (writable === !this.#failing) return;
    this.#failing = !writable;
    if (writable) log.info({}, "the database takes writes again");
    else log.error({ pendingWrites }, "the database takes no writes: requests are refused");
  }
}
