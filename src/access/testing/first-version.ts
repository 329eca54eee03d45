/**
 * The database as the first released version made it, with rows of every kind in it. Frozen: later
 * versions of the program must open it and keep every row, so nothing here is ever changed.
 */

export type DatabaseKind = "sqlite" | "postgres";

/** Secret of the key `app` in it. */
export const firstVersionSecret = "sk-of-the-first-version-app";

/** Statements that make it in an empty database. */
export function firstVersion(kind: DatabaseKind): string {
  const [integer, id] =
    kind === "sqlite"
      ? ["integer", "integer primary key autoincrement"]
      : ["bigint", "bigserial primary key"];
  const start =
    kind === "sqlite"
      ? "pragma application_id = 1129140300;"
      : "create schema completionist; set search_path = completionist;";
  // Rows with given ids do not move Postgres' counter on.
  const end =
    kind === "sqlite" ? "" : "select setval(pg_get_serial_sequence('requests', 'id'), 5);";
  return [
    start,
    tables.replaceAll("INTEGER", integer ?? "").replace("ID", id ?? ""),
    rows,
    end,
  ].join("\n");
}

const tables = `
create table "schema_version" ("version" INTEGER primary key, "applied_ms" INTEGER not null);
create table "keys" ("id" text primary key, "name" text not null, "secret_hash" text not null unique, "masked" text not null, "models" text, "created_ms" INTEGER not null, "expires_ms" INTEGER, "revoked_ms" INTEGER, "rotated_ms" INTEGER, "last_used_ms" INTEGER, "requests_per_minute" INTEGER, "tokens_per_minute" INTEGER, "tokens_per_month" INTEGER, "max_parallel" INTEGER, "user_requests_per_minute" INTEGER, "user_tokens_per_minute" INTEGER, "user_tokens_per_month" INTEGER, "user_max_parallel" INTEGER);
create unique index "keys_name_in_use" on "keys" ("name") where "revoked_ms" is null;
create table "buckets" ("key_id" text not null, "end_user" text not null, "kind" text not null, "level" INTEGER not null, "at_ms" INTEGER not null, "refunded" INTEGER not null, constraint "buckets_pk" primary key ("key_id", "end_user", "kind"));
create table "month_usage" ("key_id" text not null, "end_user" text not null, "month" text not null, "reserved" INTEGER not null, "used" INTEGER not null, constraint "month_usage_pk" primary key ("key_id", "end_user", "month"));
create table "requests" ("id" ID, "completion_id" text not null unique, "request_id" text not null, "instance" text not null, "key_id" text, "key_name" text not null, "end_user" text, "model" text not null, "candidates" INTEGER not null, "prompt_tokens" INTEGER not null, "cached_tokens" INTEGER, "completion_tokens" INTEGER, "reserved_tokens" INTEGER not null, "charged_tokens" INTEGER, "created_ms" INTEGER not null, "admitted_ms" INTEGER, "first_token_ms" INTEGER, "duration_ms" INTEGER, "outcome" text not null, "error" text);
create index "requests_created" on "requests" ("created_ms");
create index "requests_key_created" on "requests" ("key_id", "created_ms");
create index "requests_open_key" on "requests" ("key_id", "end_user") where outcome = 'open';
create index "requests_open_instance" on "requests" ("instance") where outcome = 'open';`;

const rows = `
insert into schema_version values (1, 1780000000000);
insert into keys values ('key_0123456789abcdef01234567', 'app', '3f04a16a9f67f360e80392e121f4c245185997b4497c348cda7affd4c21b86c6', 'sk-of-th****-app', '["tiny","base"]', 1780000000001, 4102444800000, null, 1780000000002, 1780000000003, 600, 90000, 1000000, 8, 60, 9000, 100000, 2);
insert into keys values ('key_fedcba987654321001234567', 'gone', 'cabaefcffd5ebe7028d9672177324fc1a8bfd83ebf6b2291cd49d0cc31e61936', 'sk-of-th****gone', null, 1780000000004, null, 1780000000005, null, null, null, null, null, null, null, null, null, null);
insert into buckets values ('key_0123456789abcdef01234567', '', 'requests', 60000, 1780000000006, 0);
insert into buckets values ('key_0123456789abcdef01234567', 'ann', 'tokens', 1800000, 1780000000006, 70);
insert into month_usage values ('key_0123456789abcdef01234567', '', '2026-05', 100, 950000);
insert into month_usage values ('key_0123456789abcdef01234567', 'ann', '2026-05', 100, 50000);
insert into requests values (1, 'cmpl-1', 'req_1', 'server-1', null, '', null, 'tiny', 1, 3, 0, 16, 19, 19, 1780000000007, 1, 4, 60, 'completed', null);
insert into requests values (2, 'cmpl-2', 'req_2', 'server-1', 'key_0123456789abcdef01234567', 'app', 'ann', 'tiny', 4, 12, 8, 40, 412, 52, 1780000000008, 2, 5, 90, 'completed', null);
insert into requests values (3, 'cmpl-3', 'req_3', 'server-1', 'key_0123456789abcdef01234567', 'app', null, 'base', 1, 7, 0, 0, 23, 7, 1780000000009, null, null, 4, 'failed', 'server');
insert into requests values (4, 'cmpl-4', 'req_4', 'server-0', 'key_fedcba987654321001234567', 'gone', 'bob', 'tiny', 1, 5, null, null, 21, 21, 1780000000010, null, null, null, 'lost', null);
insert into requests values (5, 'cmpl-5', 'req_5', 'server-1', 'key_0123456789abcdef01234567', 'app', 'ann', 'tiny', 1, 10, null, null, 100, null, 1780000000011, null, null, null, 'open', null);`;

/** What its ledger holds for one who reads it, by id; the last was open when its server ended. */
export const firstVersionRows = [
  { completionId: "cmpl-1", keyId: undefined, chargedTokens: 19, outcome: "completed" },
  { completionId: "cmpl-2", user: "ann", cachedTokens: 8, candidates: 4, outcome: "completed" },
  { completionId: "cmpl-3", user: undefined, error: "server", outcome: "failed" },
  { completionId: "cmpl-4", keyName: "gone", completionTokens: undefined, outcome: "lost" },
  { completionId: "cmpl-5", reservedTokens: 100, chargedTokens: 100, outcome: "lost" },
];
