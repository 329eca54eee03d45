/**
 * Lets a request in, or says which limit keeps it out: every check and every count of one request
 * in one transaction, so that requests at the same moment, from several servers too, cannot both
 * take the last place.
 */
import { type Bucket, emptyInMs, fill, leaked, room } from "../bucket.ts";
import type { Operation, OperationContext } from "../store.ts";
import type { BucketKind, KeyRow } from "../tables.ts";
import { keyHolds } from "./authenticate.ts";
import {
  addToMonth,
  Buckets,
  countOpen,
  monthOf,
  monthTokens,
  type Scope,
  scopesOf,
} from "./scopes.ts";

export interface AdmitInput {
  readonly instance: string;
  /** undefined without a key of the database: then nothing is limited. */
  readonly keyId: string | undefined;
  readonly keyName: string;
  readonly endUser: string | null;
  readonly requestId: string;
  readonly completionId: string;
  readonly model: string;
  readonly promptTokens: number;
  readonly completionTokensMax: number;
  readonly candidates: number;
}

export type RefusedLimit =
  | "requestsPerMinute"
  | "tokensPerMinute"
  | "tokensPerMonth"
  | "maxParallel";

export interface Refusal {
  readonly name: RefusedLimit;
  /** Whether it is the limit of the user, not the one of the whole key. */
  readonly ofUser: boolean;
  readonly limit: number;
  readonly used: number;
  readonly requested: number;
  /** Milliseconds until it fits; undefined when waiting does not help. */
  readonly waitMs: number | undefined;
}

/** Where a rate stands after the request was let in. */
export interface RateState {
  readonly kind: BucketKind;
  readonly limit: number;
  readonly remaining: number;
  readonly resetMs: number;
}

/** Where the request's tokens end in a bucket; "" for the bucket of the whole key. */
export interface TokenMark {
  readonly endUser: string;
  readonly mark: number;
}

export type AdmitOutput =
  | {
      readonly kind: "admitted";
      readonly atMs: number;
      readonly rates: readonly RateState[];
      readonly marks: readonly TokenMark[];
    }
  /** With the rates as they stand without it. */
  | { readonly kind: "refused"; readonly refusal: Refusal; readonly rates: readonly RateState[] }
  /** Revoked or expired meanwhile. */
  | { readonly kind: "invalidKey"; readonly masked: string };

/** A parallel request ends nobody knows when: this is what a client is told to wait. */
const parallelWaitMs = 1000;

export const admit: Operation<AdmitInput, AdmitOutput> = {
  mode: "write",
  run: async (context, input) => {
    if (input.keyId === undefined) {
      const atMs = await context.nowMs();
      await insertOpen(context, input, atMs);
      return { kind: "admitted", atMs, rates: [], marks: [] };
    }
    const query = context.db.selectFrom("keys").selectAll().where("id", "=", input.keyId);
    const key = await context.dialect.lockRows(query).executeTakeFirst();
    // The time is asked for when the row is ours, so that it never runs backwards for one key.
    const atMs = await context.nowMs();
    if (key === undefined || !keyHolds(key, atMs)) {
      return { kind: "invalidKey", masked: key?.masked ?? "****" };
    }
    return admitKey(context, input, key, atMs);
  },
};

async function admitKey(
  context: OperationContext,
  input: AdmitInput,
  key: KeyRow,
  atMs: number,
): Promise<AdmitOutput> {
  const { db } = context;
  const scopes = scopesOf(key.id, input.endUser, key);
  const users = scopes.map((scope) => scope.endUser);
  const tokens = input.promptTokens + input.completionTokensMax;
  const month = monthOf(atMs);
  const filling = await fillBuckets(context, scopes, tokens, atMs);
  const refusals = [...filling.refusals];
  refusals.push(...(await checkParallel(context, scopes)));
  refusals.push(...(await checkMonth(context, scopes, tokens, month)));
  const refusal = worstOf(refusals);
  if (refusal !== undefined) {
    return { kind: "refused", refusal, rates: tighter(filling.standing) };
  }
  await filling.buckets?.write();
  await addToMonth(db, key.id, users, { month, reserved: tokens, used: 0 });
  await insertOpen(context, input, atMs);
  return { kind: "admitted", atMs, rates: tighter(filling.rates), marks: filling.marks };
}

async function fillBuckets(
  { db }: OperationContext,
  scopes: readonly Scope[],
  tokens: number,
  nowMs: number,
) {
  const refusals: Refusal[] = [];
  const rates: RateState[] = [];
  const standing: RateState[] = [];
  const marks: TokenMark[] = [];
  const rated = scopes.filter(
    ({ limits }) => limits.requestsPerMinute !== null || limits.tokensPerMinute !== null,
  );
  const [first] = rated;
  if (first === undefined) return { refusals, rates, standing, marks };
  const users = rated.map((scope) => scope.endUser);
  const buckets = await Buckets.read(db, first.keyId, users);
  await buckets.comeBackTo(nowMs);
  for (const { endUser, limits } of rated) {
    const parts = [
      { kind: "requests", name: "requestsPerMinute", limit: limits.requestsPerMinute, amount: 1 },
      { kind: "tokens", name: "tokensPerMinute", limit: limits.tokensPerMinute, amount: tokens },
    ] as const;
    for (const { kind, name, limit, amount } of parts) {
      if (limit === null) continue;
      standing.push(rateState(kind, limit, leaked(buckets.get(endUser, kind), limit, nowMs)));
      const filling = fill(buckets.get(endUser, kind), limit, amount, nowMs);
      if (filling.fits) {
        const { bucket, mark } = filling;
        buckets.set(endUser, kind, bucket);
        rates.push(rateState(kind, limit, bucket));
        if (kind === "tokens") marks.push({ endUser, mark });
      } else {
        const { used, waitMs } = filling;
        refusals.push({ name, ofUser: endUser !== "", limit, used, requested: amount, waitMs });
      }
    }
  }
  return { refusals, rates, standing, marks, buckets };
}

function rateState(kind: BucketKind, limit: number, bucket: Bucket): RateState {
  return { kind, limit, remaining: room(bucket, limit), resetMs: emptyInMs(bucket, limit) };
}

async function checkParallel({ db }: OperationContext, scopes: readonly Scope[]) {
  const refusals: Refusal[] = [];
  for (const { keyId, endUser, limits } of scopes) {
    const limit = limits.maxParallel;
    if (limit === null) continue;
    const used = await countOpen(db, keyId, endUser);
    if (used < limit) continue;
    const ofUser = endUser !== "";
    refusals.push({
      name: "maxParallel",
      ofUser,
      limit,
      used,
      requested: 1,
      waitMs: parallelWaitMs,
    });
  }
  return refusals;
}

async function checkMonth(
  { db }: OperationContext,
  scopes: readonly Scope[],
  requested: number,
  month: string,
) {
  const limited = scopes.filter((scope) => scope.limits.tokensPerMonth !== null);
  const [first] = limited;
  if (first === undefined) return [];
  const users = limited.map((scope) => scope.endUser);
  const tokens = await monthTokens(db, first.keyId, users, month);
  return limited.flatMap(({ endUser, limits }): readonly Refusal[] => {
    const limit = limits.tokensPerMonth ?? 0;
    const used = tokens.get(endUser) ?? 0;
    if (used + requested <= limit) return [];
    const ofUser = endUser !== "";
    return [{ name: "tokensPerMonth", ofUser, limit, used, requested, waitMs: undefined }];
  });
}

/** What waiting does not help against comes first, then what has to be waited for longest. */
function worstOf(refusals: readonly Refusal[]): Refusal | undefined {
  const wait = (refusal: Refusal) => refusal.waitMs ?? Number.POSITIVE_INFINITY;
  return refusals.toSorted((a, b) => (wait(a) === wait(b) ? 0 : wait(b) - wait(a)))[0];
}

/** Of each kind the rate that has less room: the key's or the user's. */
function tighter(rates: readonly RateState[]): readonly RateState[] {
  return rates.filter((rate) =>
    rates.every(
      (other) =>
        other === rate ||
        other.kind !== rate.kind ||
        rate.remaining < other.remaining ||
        (rate.remaining === other.remaining && rates.indexOf(rate) < rates.indexOf(other)),
    ),
  );
}

async function insertOpen({ db }: OperationContext, input: AdmitInput, nowMs: number) {
  await db
    .insertInto("requests")
    .values({
      completion_id: input.completionId,
      request_id: input.requestId,
      instance: input.instance,
      key_id: input.keyId ?? null,
      key_name: input.keyName,
      end_user: input.endUser,
      model: input.model,
      candidates: input.candidates,
      prompt_tokens: input.promptTokens,
      reserved_tokens: input.promptTokens + input.completionTokensMax,
      created_ms: nowMs,
      outcome: "open",
    })
    .execute();
}
