/** A database for a proof: a SQLite file, or a Postgres server of its own. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DatabaseSettings } from "../../src/access/location.ts";
import {
  type PostgresServer,
  postgresPrograms,
  startPostgres,
} from "../../src/access/testing/postgres-server.ts";

export const databaseKinds = ["sqlite", "postgres"] as const;
export type DatabaseKind = (typeof databaseKinds)[number];

export interface ProofDatabase {
  readonly kind: DatabaseKind;
  readonly settings: DatabaseSettings;
  /** For `completionist serve`. */
  readonly options: readonly string[];
  readonly postgres: PostgresServer | undefined;
  remove(): Promise<void>;
}

export const hasPostgres = postgresPrograms() !== undefined;

/** Throws where Postgres is wanted and not installed. */
export async function newDatabase(kind: DatabaseKind): Promise<ProofDatabase> {
  const dataFolder = mkdtempSync(join(tmpdir(), "completionist-proof-"));
  const removeFolder = () => rmSync(dataFolder, { recursive: true, force: true });
  const data = ["--data", dataFolder];
  if (kind === "sqlite") {
    return {
      ...{ kind, settings: { database: undefined, dataFolder }, options: data },
      postgres: undefined,
      remove: async () => removeFolder(),
    };
  }
  const programs = postgresPrograms();
  if (programs === undefined) throw new Error("Postgres is not installed here.");
  const postgres = await startPostgres(programs);
  const database = await postgres.newDatabase();
  return {
    ...{ kind, settings: { database, dataFolder }, options: [...data, "--database", database] },
    postgres,
    remove: async () => {
      await postgres.remove();
      removeFolder();
    },
  };
}

export function databaseKind(text: string): DatabaseKind {
  const kind = databaseKinds.find((candidate) => candidate === text);
  if (kind === undefined) throw new Error(`--database is one of ${databaseKinds.join(", ")}.`);
  return kind;
}
