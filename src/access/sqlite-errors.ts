/** What SQLite's result codes mean for who asked. */
import type { StoreProblem } from "./store.ts";

/** Primary result codes, from sqlite3.h. */
const codes = { busy: 5, locked: 6, tooBig: 18, constraint: 19, mismatch: 20, range: 25 };

function codeOf(error: unknown): number | undefined {
  const code = (error as { readonly errcode?: unknown } | undefined)?.errcode;
  // The lower byte is the primary code; the rest says more.
  return typeof code === "number" ? code & 0xff : undefined;
}

export function isBusy(error: unknown): boolean {
  const code = codeOf(error);
  return code === codes.busy || code === codes.locked;
}

/** Whether the data was at fault or the database. */
export function problemOf(error: unknown): StoreProblem {
  const code = codeOf(error);
  // An error that is not SQLite's is one of our own making: the database is well.
  if (code === undefined) return "invalid";
  const { tooBig, constraint, mismatch, range } = codes;
  return [tooBig, constraint, mismatch, range].includes(code) ? "invalid" : "unavailable";
}

export const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);
