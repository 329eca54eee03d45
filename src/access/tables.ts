/** The tables, as Kysely sees them. docs/reference/ledger.md says what each column means. */
import type { Generated, Selectable } from "kysely";
import type { Outcome } from "./access.ts";
import type { LimitColumns } from "./key-limits.ts";

export interface SchemaVersionTable {
  version: number;
  applied_ms: number;
}

interface KeyColumns {
  id: string;
  name: string;
  /** SHA-256 of the secret, hexadecimal. */
  secret_hash: string;
  /** What may be shown of the secret. */
  masked: string;
  /** JSON array of model names; null: all. */
  models: string | null;
  created_ms: number;
  expires_ms: number | null;
  revoked_ms: number | null;
  rotated_ms: number | null;
  last_used_ms: number | null;
}
export type KeysTable = KeyColumns & { -readonly [Column in keyof LimitColumns]: number | null };
export type KeyRow = Selectable<KeysTable>;

export const bucketKinds = ["requests", "tokens"] as const;
export type BucketKind = (typeof bucketKinds)[number];

export interface BucketsTable {
  key_id: string;
  /** "" for the key itself. */
  end_user: string;
  kind: BucketKind;
  level: number;
  at_ms: number;
  refunded: number;
}

export interface MonthUsageTable {
  key_id: string;
  /** "" for the key itself. */
  end_user: string;
  /** `2026-08`, UTC. */
  month: string;
  /** Tokens of requests that run. */
  reserved: number;
  /** Tokens of requests that ended. */
  used: number;
}

export interface RequestsTable {
  id: Generated<number>;
  completion_id: string;
  request_id: string;
  /** Which server process ran it. */
  instance: string;
  key_id: string | null;
  key_name: string;
  end_user: string | null;
  model: string;
  candidates: number;
  prompt_tokens: number;
  cached_tokens: number | null;
  completion_tokens: number | null;
  reserved_tokens: number;
  charged_tokens: number | null;
  created_ms: number;
  admitted_ms: number | null;
  first_token_ms: number | null;
  duration_ms: number | null;
  outcome: Outcome | "open";
  error: string | null;
}
export type RequestRow = Selectable<RequestsTable>;

export interface Tables {
  schema_version: SchemaVersionTable;
  keys: KeysTable;
  buckets: BucketsTable;
  month_usage: MonthUsageTable;
  requests: RequestsTable;
}
