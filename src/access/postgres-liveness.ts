/**
 * Liveness by advisory locks of Postgres: each server process holds one on a connection of its own.
 * When the process dies, the connection does, and with it the lock. A connection can also drop while
 * the process lives (the database was restarted, the network failed). Then the process connects
 * again and takes its lock back, and others have patience: a process counts as dead only when its
 * lock was free each time they looked for as long as `graceMs`, on one connection of theirs. A server
 * that was out of touch for longer, and whose rows were therefore closed as lost, corrects these
 * rows when it settles them.
 */
import { createHash, randomUUID } from "node:crypto";
import type pg from "pg";
import type { Liveness } from "./liveness.ts";
import { newClient } from "./postgres-connection.ts";

const defaultGraceMs = 5_000;
const reconnectMs = 500;
/** How often it is tried whether the connection still works. */
const checkMs = 5_000;

export interface PostgresLivenessOptions {
  readonly url: string;
  readonly graceMs?: number;
}

export class PostgresLiveness implements Liveness {
  readonly instance = randomUUID();
  readonly #url: string;
  readonly #graceMs: number;
  /** Processes whose lock was free, each with the time of that; in no gap of our own. */
  readonly #suspects = new Map<string, number>();
  #client: pg.Client | undefined;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  private constructor({ url, graceMs = defaultGraceMs }: PostgresLivenessOptions) {
    this.#url = url;
    this.#graceMs = graceMs;
  }

  static async open(options: PostgresLivenessOptions): Promise<PostgresLiveness> {
    const liveness = new PostgresLiveness(options);
    await liveness.#connect();
    return liveness;
  }

  async deadOf(instances: readonly string[]): Promise<readonly string[]> {
    const client = this.#client;
    if (client === undefined) throw new Error("There is no connection to the database.");
    const dead: string[] = [];
    for (const instance of instances) {
      if (instance === this.instance) continue;
      // A lock for the time of this statement alone.
      const { rows } = await client.query<{ free: boolean }>(
        "select pg_try_advisory_xact_lock($1) as free",
        [lockOf(instance)],
      );
      if (rows[0]?.free !== true) {
        this.#suspects.delete(instance);
        continue;
      }
      const since = this.#suspects.get(instance) ?? performance.now();
      this.#suspects.set(instance, since);
      if (performance.now() - since >= this.#graceMs) dead.push(instance);
    }
    return dead;
  }

  async forget(instance: string): Promise<void> {
    this.#suspects.delete(instance);
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#client?.end().catch(() => undefined);
  }

  async #connect(): Promise<void> {
    const client = newClient(this.#url);
    client.on("error", () => undefined);
    client.on("end", () => this.#lost(client));
    await client.connect();
    if (this.#closed) {
      await client.end();
      return;
    }
    // The machine of a server may vanish without a word: the database asks after it.
    await client.query("set tcp_keepalives_idle = 10");
    await client.query("set tcp_keepalives_interval = 5");
    await client.query("set tcp_keepalives_count = 3");
    this.#client = client;
    await this.#check();
  }

  /** Makes sure that the lock is held; again and again, as that also tries the connection. */
  async #check(): Promise<void> {
    const client = this.#client;
    if (client === undefined || this.#closed) return;
    try {
      const { rows } = await client.query<{ held: boolean }>(takeLock, [lockOf(this.instance)]);
      // Not held: the database has not noticed yet that our last connection is gone.
      this.#again(rows[0]?.held === true ? checkMs : reconnectMs, () => this.#check());
    } catch {
      // Ends the connection where it is only silent; `end` brings a new one.
      await client.end().catch(() => undefined);
      this.#lost(client);
    }
  }

  #lost(client: pg.Client): void {
    if (this.#client !== client || this.#closed) return;
    this.#client = undefined;
    this.#suspects.clear();
    this.#reconnectLater();
  }

  #reconnectLater(): void {
    this.#again(reconnectMs, () => this.#connect().catch(() => this.#reconnectLater()));
  }

  #again(afterMs: number, work: () => Promise<void>): void {
    clearTimeout(this.#timer);
    if (this.#closed) return;
    this.#timer = setTimeout(() => void work(), afterMs);
    this.#timer.unref();
  }
}

/** Takes the lock unless this session has it: a session's locks are counted. */
const takeLock = `
  select case when exists (
    select 1 from pg_locks
    where locktype = 'advisory' and pid = pg_backend_pid() and granted and objsubid = 1
      and ((classid::bigint << 32) | objid::bigint) = $1::bigint
  ) then true else pg_try_advisory_lock($1::bigint) end as held`;

/** The 64-bit number of a process' lock. */
function lockOf(instance: string): string {
  const digest = createHash("sha256").update(`completionist server ${instance}`).digest();
  return digest.readBigInt64BE(0).toString();
}
