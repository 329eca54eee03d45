/** The store on Postgres: each operation in a transaction of its own, from a small pool. */
import { setTimeout as delay } from "node:timers/promises";
import { Kysely, PostgresDialect, sql } from "kysely";
import { postgresDialect } from "./dialects.ts";
import { migrate } from "./migrate.ts";
import { operations } from "./operations/operations.ts";
import { PendingOperations, trackingOf } from "./pending-operations.ts";
import { openPool } from "./postgres-connection.ts";
import { isConflict, isDisconnect, problemOf } from "./postgres-errors.ts";
import {
  type InputOf,
  type Operation,
  type OperationContext,
  type OperationName,
  type OutputOf,
  type Store,
  StoreError,
  type StoreState,
} from "./store.ts";
import type { Tables } from "./tables.ts";

/** Our tables have a schema of their own, so that a database may be shared with other programs. */
export const schemaName = "completionist";

/** Any number that no other program of the database uses for a lock. */
const migrationLock = "7166182340973451001";

const connections = { operations: 8, reports: 2 };
const statementTimeoutMs = { operations: 10_000, reports: 600_000 };

/** How often an operation is tried that only met another one. */
const conflictTriesMax = 8;
const conflictDelayMs = 5;

/** Operations that must not be done twice when the answer to the first try got lost. */
const onceOnly: ReadonlySet<OperationName> = new Set(["admit", "createKey", "revokeKey"]);

interface Progress {
  /** A transaction was begun: when the connection drops, nobody knows whether it was committed. */
  begun: boolean;
}

export interface PostgresStoreOptions {
  readonly url: string;
  /** For tests; by default the database's clock, which all servers share. */
  readonly nowMs?: (() => number) | undefined;
}

export class PostgresStore implements Store {
  readonly #db: Kysely<Tables>;
  readonly #reports: Kysely<Tables>;
  readonly #nowMs: (() => number) | undefined;
  readonly #pending = new PendingOperations();

  private constructor({ url, nowMs }: PostgresStoreOptions) {
    this.#nowMs = nowMs;
    const kysely = (role: "operations" | "reports") =>
      new Kysely<Tables>({
        dialect: new PostgresDialect({
          pool: openPool({
            url,
            connectionsMax: connections[role],
            statementTimeoutMs: statementTimeoutMs[role],
          }),
        }),
      }).withSchema(schemaName);
    this.#db = kysely("operations");
    this.#reports = kysely("reports");
  }

  static async open(options: PostgresStoreOptions): Promise<PostgresStore> {
    const store = new PostgresStore(options);
    try {
      await store.#migrate();
      return store;
    } catch (error) {
      await store.close();
      throw error;
    }
  }

  async run<Name extends OperationName>(name: Name, input: InputOf<Name>): Promise<OutputOf<Name>> {
    const operation = operations[name] as Operation<InputOf<Name>, OutputOf<Name>>;
    const { mode } = operation;
    return this.#pending.track(trackingOf(name, mode), async () => {
      const progress = { begun: false };
      try {
        return await this.#attempt(name, operation, input, progress);
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error);
        const maybeDone = progress.begun && isDisconnect(error);
        throw new StoreError(problemOf(error), message, { cause: error, maybeDone });
      }
    });
  }

  state(): StoreState {
    return this.#pending.state();
  }

  async close(): Promise<void> {
    await this.#pending.idle();
    await Promise.all([this.#db.destroy(), this.#reports.destroy()]);
  }

  async #attempt<Input, Output>(
    name: OperationName,
    operation: Operation<Input, Output>,
    input: Input,
    progress: Progress,
  ): Promise<Output> {
    let reconnected = onceOnly.has(name);
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.#once(operation, input, progress);
      } catch (error) {
        if (isConflict(error) && tries < conflictTriesMax) {
          await delay(conflictDelayMs * tries * Math.random());
          continue;
        }
        // The pool had a connection that died meanwhile: the next one is new.
        if (!isDisconnect(error) || reconnected) throw error;
        reconnected = true;
      }
    }
  }

  #once<Input, Output>(
    operation: Operation<Input, Output>,
    input: Input,
    progress: Progress,
  ): Promise<Output> {
    if (operation.mode === "report") return operation.run(this.#context(this.#reports), input);
    if (operation.mode === "read") return operation.run(this.#context(this.#db), input);
    return this.#db.transaction().execute((db) => {
      progress.begun = true;
      return operation.run(this.#context(db), input);
    });
  }

  #context(db: Kysely<Tables>): OperationContext {
    const now = this.#nowMs;
    const nowMs = now === undefined ? () => postgresDialect.nowMs(db) : async () => now();
    return { db, dialect: postgresDialect, nowMs };
  }

  async #migrate(): Promise<void> {
    await this.#db.transaction().execute(async (db) => {
      await sql`select pg_advisory_xact_lock(${migrationLock})`.execute(db);
      const { rows } = await sql`select 1 from pg_namespace where nspname = ${schemaName}`.execute(
        db,
      );
      // Asked first: making it needs a right that using it does not.
      if (rows.length === 0) await db.schema.createSchema(schemaName).execute();
      await migrate(db, postgresDialect);
    });
  }
}
