/** What Postgres' error codes (SQLSTATE) mean for who asked. */
import type { StoreProblem } from "./store.ts";

function sqlState(error: unknown): string | undefined {
  const code = (error as { readonly code?: unknown } | undefined)?.code;
  return typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) ? code : undefined;
}

/** Serialization failure and deadlock: nothing was done, and again it may work. */
export function isConflict(error: unknown): boolean {
  return ["40001", "40P01"].includes(sqlState(error) ?? "");
}

/** The connection is gone, or the server goes: whether a commit went through is not known. */
export function isDisconnect(error: unknown): boolean {
  const state = sqlState(error);
  return state === undefined || state.startsWith("08") || state.startsWith("57P");
}

/** 22 and 23 are about the data; everything else is the database. */
export function problemOf(error: unknown): StoreProblem {
  return /^2[23]/.test(sqlState(error) ?? "") ? "invalid" : "unavailable";
}
