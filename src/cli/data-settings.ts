/** What all commands share that work on the database: keys, usage and the database itself. */
import type { DatabaseSettings } from "../access/location.ts";
import type { LoadedConfiguration } from "../config/load.ts";
import type { SettingName } from "../config/settings.ts";
import { UserError, usageExitCode } from "./user-error.ts";

export const dataSettings: readonly SettingName[] = ["database", "data"];

/** Where the database is. Warnings go to standard error: a mistyped variable leads elsewhere. */
export function databaseOf({ configuration, warnings }: LoadedConfiguration): DatabaseSettings {
  for (const warning of warnings) tell(`completionist: ${warning}`);
  return { database: configuration.database, dataFolder: configuration.data };
}

/** A line for people, on standard error. */
export function tell(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** The error for a value that cannot be understood. */
export function wrongValue(option: string, problem: string): UserError {
  return new UserError(`${option}: ${problem}`, usageExitCode);
}

/** Entries between commas; throws a UserError when there is none. */
export function listOf(option: string, text: string): readonly string[] {
  const entries = text.split(",").map((entry) => entry.trim());
  if (entries.includes("")) {
    throw wrongValue(option, `expected names with commas between them, got "${text}"`);
  }
  return [...new Set(entries)];
}

/** `2026-10-02T08:00:00Z`: what tables and files show of a time. */
export const isoText = (timeMs: number): string =>
  new Date(timeMs).toISOString().replace(/\.\d+Z$/, "Z");
