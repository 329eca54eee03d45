/** The limits that a key may have: four for the key, and the same four for each `user` within it. */
import { limitMax } from "./bucket.ts";

/** Every limit is optional; the ones with `user` hold for each value of the field `user`. */
export interface KeyLimits {
  readonly requestsPerMinute?: number;
  /** Prompt and completion tokens; so is the next. */
  readonly tokensPerMinute?: number;
  /** In a calendar month, UTC. */
  readonly tokensPerMonth?: number;
  /** Requests that run at once. */
  readonly maxParallel?: number;
  readonly userRequestsPerMinute?: number;
  readonly userTokensPerMinute?: number;
  readonly userTokensPerMonth?: number;
  readonly userMaxParallel?: number;
}

export type LimitName = keyof KeyLimits;

/** Limits to be set; null takes one away, and those that are not named stay. */
export type LimitChanges = { readonly [Name in LimitName]?: number | null };

/** Where each limit stands in the table of keys. */
export const limitColumns = {
  requestsPerMinute: "requests_per_minute",
  tokensPerMinute: "tokens_per_minute",
  tokensPerMonth: "tokens_per_month",
  maxParallel: "max_parallel",
  userRequestsPerMinute: "user_requests_per_minute",
  userTokensPerMinute: "user_tokens_per_minute",
  userTokensPerMonth: "user_tokens_per_month",
  userMaxParallel: "user_max_parallel",
} as const satisfies Record<LimitName, string>;

export type LimitColumn = (typeof limitColumns)[LimitName];
export type LimitColumns = { readonly [Column in LimitColumn]: number | null };

export const limitNames = Object.keys(limitColumns) as readonly LimitName[];

/** The sentence that says what is wrong with the limits; undefined when nothing is. */
export function limitsProblem(limits: LimitChanges): string | undefined {
  for (const name of limitNames) {
    const limit = limits[name];
    if (limit === undefined || limit === null) continue;
    if (!Number.isInteger(limit) || limit < 1 || limit > limitMax) {
      return `The limit ${name} must be a whole number from 1 to ${limitMax}, not ${limit}.`;
    }
  }
  return undefined;
}

export function limitsToColumns(limits: KeyLimits): LimitColumns {
  const entries = limitNames.map((name) => [limitColumns[name], limits[name] ?? null]);
  return Object.fromEntries(entries) as LimitColumns;
}

/** Columns of the limits that a change names. */
export function limitChanges(changes: LimitChanges): Partial<LimitColumns> {
  const entries = limitNames.flatMap((name) => {
    const limit = changes[name];
    return limit === undefined ? [] : [[limitColumns[name], limit]];
  });
  return Object.fromEntries(entries) as Partial<LimitColumns>;
}

export function limitsFromColumns(columns: LimitColumns): KeyLimits {
  const limits: { -readonly [Name in LimitName]?: number } = {};
  for (const name of limitNames) {
    const limit = columns[limitColumns[name]];
    if (limit !== null) limits[name] = limit;
  }
  return limits;
}

/** The four limits of one scope: the key, or one user within it. */
export interface ScopeLimits {
  readonly requestsPerMinute: number | null;
  readonly tokensPerMinute: number | null;
  readonly tokensPerMonth: number | null;
  readonly maxParallel: number | null;
}

export function keyScopeLimits(columns: LimitColumns): ScopeLimits {
  return {
    requestsPerMinute: columns.requests_per_minute,
    tokensPerMinute: columns.tokens_per_minute,
    tokensPerMonth: columns.tokens_per_month,
    maxParallel: columns.max_parallel,
  };
}

export function userScopeLimits(columns: LimitColumns): ScopeLimits {
  return {
    requestsPerMinute: columns.user_requests_per_minute,
    tokensPerMinute: columns.user_tokens_per_minute,
    tokensPerMonth: columns.user_tokens_per_month,
    maxParallel: columns.user_max_parallel,
  };
}
