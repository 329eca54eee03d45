/** The words of `completionist keys create` and `update`: what a key may do. */
import { limitMax } from "../access/bucket.ts";
import {
  type KeyLimits,
  type LimitChanges,
  type LimitName,
  limitNames,
} from "../access/key-limits.ts";
import {
  checkKeyUpdate,
  checkNewKey,
  KeyError,
  type KeyUpdate,
  type NewKey,
} from "../access/key-store.ts";
import { timeForms, timeOf } from "../access/time-text.ts";
import { isoText, listOf, wrongValue } from "./data-settings.ts";
import { UserError, usageExitCode } from "./user-error.ts";

/** As they stand on the command line. */
export type KeyWords = { readonly [Name in LimitName]?: string } & {
  readonly expires?: string;
  readonly models?: string;
};

/** The words that take something away, or say that there is nothing from the start. */
const words = { expires: "never", models: "all", limit: "none" } as const;

/** Throws a UserError. */
export function readNewKey(name: string, said: KeyWords, nowMs: number): NewKey {
  const { expiresMs, models, limits } = readWords(said, nowMs);
  const given = Object.entries(limits).filter(([, limit]) => limit !== null);
  const key: NewKey = {
    name,
    ...(typeof expiresMs === "number" ? { expiresMs } : {}),
    ...(models ? { models } : {}),
    limits: Object.fromEntries(given) as KeyLimits,
  };
  return asUsage(() => {
    checkNewKey(key);
    return key;
  });
}

/** Throws a UserError, also when there is nothing to change. */
export function readKeyUpdate(said: KeyWords, nowMs: number): KeyUpdate {
  const update = readWords(said, nowMs);
  const { expiresMs, models, limits } = update;
  if (expiresMs === undefined && models === undefined && Object.keys(limits).length === 0) {
    throw new UserError(
      "say what to change, for example --tokens-per-month 1000000 or --expires never",
      usageExitCode,
    );
  }
  return asUsage(() => {
    checkKeyUpdate(update);
    return update;
  });
}

function readWords(said: KeyWords, nowMs: number) {
  const { expires, models } = said;
  return {
    ...(expires === undefined
      ? {}
      : { expiresMs: expires === words.expires ? null : readExpiry(expires, nowMs) }),
    ...(models === undefined ? {} : { models: models === words.models ? null : readNames(models) }),
    limits: readLimits(said),
  } as KeyUpdate & { readonly limits: LimitChanges };
}

/** A key for a model that is called "all" or "none" would look like what it is not. */
function readNames(text: string): readonly string[] {
  const names = listOf("--models", text);
  const reserved = names.find((name) => name === words.models || name === words.limit);
  if (reserved === undefined) return names;
  throw wrongValue("--models", `expected names of models, or ${words.models} alone, got "${text}"`);
}

/** `requestsPerMinute` as an option: `--requests-per-minute`. */
export const limitOption = (name: LimitName): string =>
  `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

function readLimits(said: KeyWords): LimitChanges {
  const limits: { -readonly [Name in LimitName]?: number | null } = {};
  for (const name of limitNames) {
    const text = said[name];
    if (text === undefined) continue;
    const limit = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (text === words.limit) limits[name] = null;
    else if (limit >= 1 && limit <= limitMax) limits[name] = limit;
    else {
      const expected = `expected a whole number from 1 to ${limitMax}, or ${words.limit}`;
      throw wrongValue(limitOption(name), `${expected}, got "${text}"`);
    }
  }
  return limits;
}

const unitsMs: Readonly<Record<string, number>> = {
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

function readExpiry(text: string, nowMs: number): number {
  const [, amount, unit = ""] = /^(\d{1,7})([smhdw])$/.exec(text) ?? [];
  const atMs = amount === undefined ? timeOf(text) : nowMs + Number(amount) * (unitsMs[unit] ?? 0);
  if (atMs === undefined) {
    const forms = `a duration (30d, 12h, 90m), ${timeForms}, or ${words.expires}`;
    throw wrongValue("--expires", `expected ${forms}, got "${text}"`);
  }
  if (atMs > latestMs) throw wrongValue("--expires", `${text} is later than the year 9999`);
  if (atMs <= nowMs) throw wrongValue("--expires", `${text} is in the past (${isoText(atMs)})`);
  return atMs;
}

const latestMs = Date.UTC(9999, 11, 31);

/** What is wrong with the words ends the command before the database is touched. */
function asUsage<Value>(read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    if (error instanceof KeyError) throw new UserError(error.message, usageExitCode);
    throw error;
  }
}
