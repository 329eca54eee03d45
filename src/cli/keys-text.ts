/** Keys as tables and as JSON. The secret is in none of them, nor is its digest. */
import { type KeyLimits, limitColumns, limitNames } from "../access/key-limits.ts";
import type { StoredKey } from "../access/key-store.ts";
import { isoText } from "./data-settings.ts";
import { limitOption } from "./keys-options.ts";
import { type Alignment, columnLines } from "./text-columns.ts";

export type KeyState = "active" | "expired" | "revoked";

export function stateOf({ revokedMs, expiresMs }: StoredKey, nowMs: number): KeyState {
  if (revokedMs !== undefined) return "revoked";
  return expiresMs !== undefined && expiresMs <= nowMs ? "expired" : "active";
}

/** Every member is always there; null where there is nothing to say. */
export function keyJson(key: StoredKey, nowMs: number): object {
  const time = (ms: number | undefined) => (ms === undefined ? null : isoText(ms));
  return {
    id: key.id,
    name: key.name,
    masked: key.masked,
    state: stateOf(key, nowMs),
    created: time(key.createdMs),
    expires: time(key.expiresMs),
    revoked: time(key.revokedMs),
    rotated: time(key.rotatedMs),
    last_used: time(key.lastUsedMs),
    models: key.models ?? null,
    limits: Object.fromEntries(
      limitNames.flatMap((name) => {
        const limit = key.limits[name];
        return limit === undefined ? [] : [[limitColumns[name], limit]];
      }),
    ),
  };
}

const alignments: readonly Alignment[] = Array(8).fill("left");

export function keysTable(keys: readonly StoredKey[], nowMs: number): readonly string[] {
  const day = (ms: number | undefined, none: string) => (ms === undefined ? none : isoText(ms));
  const rows = keys.map((key) => [
    key.name,
    key.id,
    stateOf(key, nowMs),
    day(key.createdMs, ""),
    day(key.expiresMs, "never"),
    day(key.lastUsedMs, "never"),
    limitsText(key.limits),
    key.models?.join(",") ?? "all",
  ]);
  const heads = ["name", "id", "state", "created", "expires", "last used", "limits", "models"];
  return columnLines([heads, ...rows], alignments);
}

/** As the options that would set them: `requests-per-minute 60`. */
export function limitsText(limits: KeyLimits): string {
  const parts = limitNames.flatMap((name) => {
    const limit = limits[name];
    return limit === undefined ? [] : [`${limitOption(name).slice(2)} ${limit}`];
  });
  return parts.length === 0 ? "none" : parts.join(", ");
}
