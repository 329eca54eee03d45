/** Where the database is, from the setting `database`. */
import { join, resolve } from "node:path";

export const databaseFileName = "completionist.db";

export type DatabaseLocation =
  | {
      readonly kind: "sqlite";
      readonly file: string;
      /** For messages. */
      readonly shown: string;
    }
  | {
      readonly kind: "postgres";
      readonly url: string;
      /** Host and database alone: the address has a password in it. */
      readonly shown: string;
    };

export interface DatabaseSettings {
  /** A file, or a postgres:// URL; undefined: a file in the data folder. */
  readonly database: string | undefined;
  readonly dataFolder: string;
}

export function locateDatabase(settings: DatabaseSettings): DatabaseLocation {
  const { database, dataFolder } = settings;
  if (database !== undefined && /^postgres(ql)?:\/\//i.test(database)) {
    return { kind: "postgres", url: database, shown: shownUrl(database) };
  }
  const file = resolve(database ?? join(dataFolder, databaseFileName));
  return { kind: "sqlite", file, shown: file };
}

function shownUrl(text: string): string {
  if (!URL.canParse(text)) return "postgres://... (an address that is none)";
  const { host, pathname } = new URL(text);
  return `postgres://${host}${pathname}`;
}
