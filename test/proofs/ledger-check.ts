/** Whether the ledger, its sums and its limits agree with each other and with what clients saw. */
import type { KeyLimits } from "../../src/access/key-limits.ts";
import type { Told } from "./asking.ts";
import { type ProofPart, tally } from "./figures.ts";
import type { LookedMonth, LookedRow } from "./ledger-look.ts";
import { rateExcess } from "./rate-model.ts";

export interface ProofKey {
  readonly id: string;
  readonly name: string;
  readonly secret: string;
  readonly limits: KeyLimits;
}

export interface LedgerFacts {
  readonly rows: readonly LookedRow[];
  readonly months: readonly LookedMonth[];
  readonly told: readonly Told[];
  readonly keys: readonly ProofKey[];
}

export function checkLedger(facts: LedgerFacts): ProofPart {
  const { rows, told } = facts;
  const checks = [...answerChecks(facts), ...rowChecks(facts), ...limitChecks(facts)];
  const whole = new Set(wholeAnswers(told).map((each) => each.completionId));
  const unheard = rows.filter((row) => row.outcome === "completed" && !whole.has(row.completionId));
  return {
    title: "the ledger against what clients were told",
    figures: [
      ["requests sent", told.length],
      ["how they ended", tally(told.map((each) => each.end))],
      ["refusals", tally(told.flatMap(refusal))],
      ["rows", `${rows.length}: ${tally(rows.map((row) => row.outcome))}`],
      ["completed, but the end was not heard", unheard.length],
      ...checks.map(({ name, wrong }) => [name, wrong.length] as const),
    ],
    violations: checks.flatMap(({ name, wrong }) => wrong.map((what) => `${name}: ${what}`)),
  };
}

interface Check {
  readonly name: string;
  readonly wrong: readonly string[];
}

const refusal = ({ end, status, error }: Told) => (end === "refused" ? [`${status} ${error}`] : []);

const wholeAnswers = (told: readonly Told[]) => told.filter(({ end }) => end === "whole");

function answerChecks({ rows, told }: LedgerFacts): readonly Check[] {
  const byId = new Map(rows.map((row) => [row.completionId, row]));
  const rowOf = ({ completionId }: Told) => byId.get(completionId ?? "");
  const counts = (row: LookedRow | undefined) => `${row?.promptTokens}+${row?.completionTokens}`;
  return [
    {
      name: "ended answers without a settled row",
      wrong: wholeAnswers(told)
        .filter((each) => rowOf(each)?.outcome !== "completed")
        .map((each) => `${each.completionId}: ${rowOf(each)?.outcome ?? "no row"}`),
    },
    {
      name: "ended answers with other counts than their rows",
      wrong: wholeAnswers(told).flatMap((each) => {
        const heard = `${each.usage?.prompt_tokens}+${each.usage?.completion_tokens}`;
        const row = rowOf(each);
        return counts(row) === heard ? [] : [`${each.completionId}: ${heard}, row ${counts(row)}`];
      }),
    },
    {
      name: "tokens that came and were not charged",
      wrong: told.flatMap((each) => {
        if (each.completionId === undefined || each.usage === undefined) return [];
        const came = each.usage.prompt_tokens + each.usage.completion_tokens;
        const charged = rowOf(each)?.chargedTokens ?? 0;
        return came <= charged ? [] : [`${each.completionId}: ${came} came, ${charged} charged`];
      }),
    },
    {
      name: "requests that hung",
      wrong: told.flatMap((each) => (each.end === "hung" ? ["1"] : [])),
    },
  ];
}

function rowChecks({ rows, months, keys }: LedgerFacts): readonly Check[] {
  const seen = new Set<string>();
  const isAgain = (id: string) => seen.size === seen.add(id).size;
  return [
    {
      name: "rows counted twice",
      wrong: rows.flatMap(({ completionId }) => (isAgain(completionId) ? [completionId] : [])),
    },
    {
      name: "open rows",
      wrong: rows.flatMap((row) => (row.outcome === "open" ? [row.completionId] : [])),
    },
    { name: "rows with a wrong charge", wrong: rows.flatMap(wrongCharge) },
    { name: "sums of months that are not their rows'", wrong: wrongMonths(rows, months, keys) },
  ];
}

function wrongCharge(row: LookedRow): readonly string[] {
  const { completionId, chargedTokens, reservedTokens, promptTokens, outcome } = row;
  if (outcome === "open") return [];
  const due =
    outcome === "lost" ? reservedTokens : promptTokens + (row.completionTokens ?? Number.NaN);
  const isRight = chargedTokens === due && due <= reservedTokens;
  return isRight ? [] : [`${completionId} (${outcome}): ${chargedTokens} instead of ${due}`];
}

/** The scopes in which a row of these keys counts: its key, and the user that it names. */
function usersOf(row: LookedRow, keys: readonly ProofKey[]): readonly string[] {
  if (!keys.some(({ id }) => id === row.keyId)) return [];
  return row.user === undefined ? [""] : ["", row.user];
}

const monthText = (ms: number) => new Date(ms).toISOString().slice(0, 7);

function wrongMonths(
  rows: readonly LookedRow[],
  months: readonly LookedMonth[],
  keys: readonly ProofKey[],
): readonly string[] {
  const due = new Map<string, number>();
  for (const row of rows) {
    for (const user of usersOf(row, keys)) {
      const place = `${row.keyId} ${user} ${monthText(row.createdMs)}`;
      due.set(place, (due.get(place) ?? 0) + (row.chargedTokens ?? 0));
    }
  }
  const kept = new Map(
    months.map(({ keyId, user, month, used }) => [`${keyId} ${user} ${month}`, used]),
  );
  const places = new Set([...due.keys(), ...kept.keys()]);
  const sums = [...places].flatMap((place) => {
    const [sum, used] = [due.get(place) ?? 0, kept.get(place) ?? 0];
    return sum === used ? [] : [`${place}: rows ${sum}, month ${used}`];
  });
  const reserved = months.filter((month) => month.reserved !== 0);
  return [...sums, ...reserved.map(({ keyId, reserved }) => `${keyId}: ${reserved} reserved`)];
}

function limitChecks({ rows, keys }: LedgerFacts): readonly Check[] {
  const months: string[] = [];
  const rates: string[] = [];
  for (const key of keys) {
    const own = rows.filter((row) => row.keyId === key.id);
    months.push(...monthExcess(key.name, own, key.limits.tokensPerMonth));
    rates.push(...rateExcesses(key.name, own, key.limits));
    const { userRequestsPerMinute, userTokensPerMinute, userTokensPerMonth } = key.limits;
    for (const user of new Set(own.flatMap((row) => row.user ?? []))) {
      const users = own.filter((row) => row.user === user);
      months.push(...monthExcess(`${key.name} ${user}`, users, userTokensPerMonth));
      const limits = {
        ...(userRequestsPerMinute && { requestsPerMinute: userRequestsPerMinute }),
        ...(userTokensPerMinute && { tokensPerMinute: userTokensPerMinute }),
      };
      rates.push(...rateExcesses(`${key.name} ${user}`, users, limits));
    }
  }
  return [
    { name: "quotas of a month that were exceeded", wrong: months },
    { name: "limits per minute that were exceeded", wrong: rates },
  ];
}

function monthExcess(name: string, rows: readonly LookedRow[], limit: number | undefined) {
  if (limit === undefined) return [];
  const sums = new Map<string, number>();
  for (const { createdMs, chargedTokens } of rows) {
    const month = monthText(createdMs);
    sums.set(month, (sums.get(month) ?? 0) + (chargedTokens ?? 0));
  }
  return [...sums].flatMap(([month, sum]) =>
    sum > limit ? [`${name} ${month}: ${sum} of ${limit}`] : [],
  );
}

function rateExcesses(name: string, rows: readonly LookedRow[], limits: KeyLimits) {
  const { requestsPerMinute, tokensPerMinute } = limits;
  const found: string[] = [];
  const judge = (limit: number | undefined, amount: (row: LookedRow) => number, what: string) => {
    if (limit === undefined) return;
    const uses = rows.map((row) => ({ atMs: row.createdMs, amount: amount(row) }));
    const excess = rateExcess(
      uses.toSorted((a, b) => a.atMs - b.atMs),
      limit,
    );
    if (excess > 0) found.push(`${name}: ${excess} ${what} over ${limit} a minute`);
  };
  judge(requestsPerMinute, () => 1, "requests");
  judge(tokensPerMinute, (row) => row.chargedTokens ?? 0, "tokens");
  return found;
}
