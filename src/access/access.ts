/**
 * What the server needs of keys, limits and the ledger. A request is authenticated, reserves what
 * it may use at most, runs, and is settled with what it used: the settlement is durable before the
 * answer's last byte is sent.
 */

/** Who asks. */
export interface Principal {
  /** Row of the key; undefined without keys, and for keys from the configuration. */
  readonly keyId: string | undefined;
  /** The key's name, for people; "" without keys. */
  readonly name: string;
  /** Tells callers apart for fairness and prefix reuse, without telling the key; "" without keys. */
  readonly owner: string;
  /** Models that the key may use, by any of their names; undefined: all. */
  readonly models: readonly string[] | undefined;
}

/** What a request may use at most: reserved before it runs. */
export interface Demand {
  readonly principal: Principal;
  /** The field `user` of the request. */
  readonly user: string | undefined;
  /** `req_...`: what the client sees as x-request-id. */
  readonly requestId: string;
  /** `cmpl-...`: the id of the completion, unique in the ledger. */
  readonly completionId: string;
  /** Id of the model that answers, aliases resolved. */
  readonly model: string;
  /** Tokens of all prompts. */
  readonly promptTokens: number;
  /** max_tokens x max(n, best_of), summed over the prompts. */
  readonly completionTokensMax: number;
  /** Candidates in all: prompts x max(n, best_of). */
  readonly candidates: number;
}

export const outcomes = ["completed", "failed", "cancelled", "lost"] as const;
/**
 * completed: the answer was whole. failed: it ended with an error. cancelled: the client left, or
 * the key was revoked. lost: the server died; written by the next one that starts.
 */
export type Outcome = (typeof outcomes)[number];

export interface Settlement {
  readonly outcome: Exclude<Outcome, "lost">;
  /** Name of the error, where there was one. */
  readonly error?: string;
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly completionTokens: number;
  /** Milliseconds since the request was seen, where it came so far. */
  readonly admittedMs?: number;
  readonly firstTokenMs?: number;
  readonly durationMs: number;
}

export interface Reservation {
  /** The x-ratelimit-* headers; none where the key has no limits. */
  readonly headers: Readonly<Record<string, string>>;
  /** Fires with an ApiError when the key is revoked or expires while the request runs. */
  readonly signal: AbortSignal;
  /**
   * Gives back what was not used and writes the ledger's row; resolves when it is durable. Called
   * again it changes nothing. Rejects with an ApiError (`overloaded`) when it cannot be written.
   */
  settle(settlement: Settlement): Promise<void>;
}

export const usageGroups = ["day", "key", "model", "user"] as const;
export type UsageGroup = (typeof usageGroups)[number];

export interface UsageQuery {
  readonly by: readonly UsageGroup[];
  /** Unix milliseconds: from (inclusive) and until (exclusive). */
  readonly fromMs?: number;
  readonly untilMs?: number;
}

/** Sums over the requests of one group; the members that were not asked for are absent. */
export interface UsageRow {
  readonly day?: string;
  /** Name of the key, and its id where it is one of the database. */
  readonly key?: string;
  readonly keyId?: string;
  readonly model?: string;
  readonly user?: string;
  readonly requests: number;
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly completionTokens: number;
}

export interface AccessHealth {
  /** Whether the last write of the ledger went through. */
  readonly writable: boolean;
  /** Age of the oldest write that is not durable yet; 0 when there is none. */
  readonly lagMs: number;
  readonly pendingWrites: number;
}

export interface Access {
  /** Whether requests need a key, as far as this process knows now. */
  readonly keysInUse: boolean;
  /**
   * Throws an ApiError: `missingKey`, `wrongKey` (unknown, revoked or expired), `overloaded` when
   * the database does not answer. Without any key everybody is the same principal.
   */
  authenticate(authorization: string | undefined): Promise<Principal>;
  /** Throws an ApiError: `rateLimit`, `quota`, `wrongKey` (revoked meanwhile), `overloaded`. */
  reserve(demand: Demand): Promise<Reservation>;
  /** What one key used. */
  usage(principal: Principal, query: UsageQuery): Promise<readonly UsageRow[]>;
  health(): AccessHealth;
  /** Waits for pending writes and lets go of the database. */
  close(): Promise<void>;
}
