/** Two servers on one database, hammered by clients of both: limits are shared exactly. */
import { setTimeout as delay } from "node:timers/promises";
import type { KeyLimits } from "../../src/access/key-limits.ts";
import { Random } from "../fuzz/random.ts";
import { ask, type Told } from "./asking.ts";
import type { Figure, ProofPart } from "./figures.ts";
import { checkLedger, type ProofKey } from "./ledger-check.ts";
import { type LedgerLook, type LookedRow, lookAtLedger } from "./ledger-look.ts";
import { makeKeys } from "./proof-clients.ts";
import type { ProofDatabase } from "./proof-database.ts";
import { ProofServer, tinyModelOptions } from "./proof-server.ts";
import { overlapMost, rateMost } from "./rate-model.ts";

export interface SharedLimitOptions {
  readonly database: ProofDatabase;
  readonly seconds: number;
  readonly clientsEach: number;
  readonly seed: number;
}

const promptTokens = 3;
const maxTokens = 10;
/** What each request of the key with a quota costs, and how many the quota has room for. */
const cost = promptTokens + maxTokens;
const monthRequests = 25;

const limits = {
  requests: { requestsPerMinute: 40 },
  tokens: { tokensPerMinute: 900 },
  users: { userRequestsPerMinute: 20 },
  parallel: { maxParallel: 3 },
  /** With a remainder in which no request fits. */
  month: { tokensPerMonth: monthRequests * cost + cost - 1 },
} as const satisfies Record<string, KeyLimits>;

const deadlineMs = 60_000;
const pauseMsMax = 20;
const samplePauseMs = 10;
/** Of what a limit has room for, hammering clients get at least this share. */
const usedShareMin = 0.8;

export async function runSharedLimits(options: SharedLimitOptions): Promise<readonly ProofPart[]> {
  const { database, seconds, clientsEach, seed } = options;
  const keys = await makeKeys(database.settings, limits);
  const common = [...tinyModelOptions, ...database.options];
  const servers = [0, 1].map(() => new ProofServer({ options: common }));
  const told: Told[] = [];
  try {
    const urls = await Promise.all(servers.map((server) => server.start()));
    const untilMs = performance.now() + seconds * 1000;
    const look = await lookAtLedger(database.settings);
    const clients = keys.flatMap((key, place) =>
      Array.from({ length: clientsEach }, async (_, client) => {
        const random = new Random(seed, place * clientsEach + client);
        let isOut = key.name !== "month";
        while (performance.now() < (isOut ? untilMs : untilMs + deadlineMs)) {
          const answer = await askOnce(random.pick(urls), key, random);
          told.push(answer);
          isOut ||= answer.error === "insufficient_quota";
          await delay(random.integer(pauseMsMax));
        }
      }),
    );
    const openMost = await sampleOpen(look, Promise.all(clients));
    const codes = await Promise.all(servers.map((server) => server.stop()));
    const rows = await look.requests();
    const facts = { rows, months: await look.months(), told, keys };
    await look.close();
    const shared = judge(options, facts, openMost);
    const ended = codes.filter((code) => code !== 0).map((code) => `a server ended with ${code}`);
    return [{ ...shared, violations: [...shared.violations, ...ended] }, checkLedger(facts)];
  } finally {
    await Promise.all(servers.map((server) => server.kill()));
  }
}

function askOnce(url: string, { id, name, secret }: ProofKey, random: Random): Promise<Told> {
  const body = {
    prompt: [1, 2, 3],
    max_tokens: maxTokens,
    stream: random.chance(0.5),
    // What a request does not use is given back; the quota's requests all cost the same.
    ignore_eos: name === "month" || random.chance(0.5),
    ...(name === "tokens" ? { n: random.between(1, 3), stop: "e" } : {}),
    ...(name === "users" ? { user: random.pick(["ann", "bob"]) } : {}),
  };
  return ask({ url, keyId: id, secret, body, deadlineMs });
}

/** The most open rows by key that were seen at one moment. */
async function sampleOpen(look: LedgerLook, until: Promise<unknown>) {
  const most = new Map<string, number>();
  const running = { is: true };
  const ended = until.finally(() => {
    running.is = false;
  });
  let samples = 0;
  while (running.is) {
    for (const [keyId, rows] of await look.openRows()) {
      most.set(keyId, Math.max(most.get(keyId) ?? 0, rows));
    }
    samples += 1;
    await delay(samplePauseMs);
  }
  await ended;
  return { most, samples };
}

interface Judged {
  readonly rows: readonly LookedRow[];
  readonly told: readonly Told[];
  readonly keys: readonly ProofKey[];
}

function judge(
  { database, seconds }: SharedLimitOptions,
  { rows, told, keys }: Judged,
  open: Awaited<ReturnType<typeof sampleOpen>>,
): ProofPart {
  const figures: Figure[] = [["requests to each server", byInstance(rows)]];
  const violations: string[] = [];
  if (new Set(rows.map((row) => row.instance)).size < 2) violations.push("one server did it all");
  for (const key of keys) {
    const own = rows.filter((row) => row.keyId === key.id);
    const asked = told.filter(({ keyId }) => keyId === key.id);
    const answered = asked.filter(({ end }) => end !== "refused");
    if (answered.length !== own.length) {
      violations.push(`${key.name}: ${answered.length} answers, ${own.length} rows`);
    }
    // Only who is refused again and again has asked for all there was.
    const isHammered = asked.length > 2 * answered.length;
    const found = judgeKey({ key, rows: own, isHammered, openMost: open.most.get(key.id) ?? 0 });
    figures.push([`key '${key.name}'`, found.text]);
    violations.push(...found.wrong.map((what) => `${key.name}: ${what}`));
  }
  figures.push(["looks at open rows", open.samples]);
  const title = `two servers on one ${database.kind} database for ${seconds} s`;
  return { title, figures, violations };
}

function byInstance(rows: readonly LookedRow[]): string {
  const counts = new Map<string, number>();
  for (const { instance } of rows) counts.set(instance, (counts.get(instance) ?? 0) + 1);
  return [...counts.values()].join(" and ");
}

interface KeyVerdict {
  readonly text: string;
  readonly wrong: readonly string[];
}

interface KeyFacts {
  readonly key: ProofKey;
  readonly rows: readonly LookedRow[];
  readonly isHammered: boolean;
  /** The most open rows that were seen at one moment. */
  readonly openMost: number;
}

function judgeKey({ key, rows, isHammered, openMost }: KeyFacts): KeyVerdict {
  const { requestsPerMinute, tokensPerMinute, userRequestsPerMinute } = key.limits;
  if (requestsPerMinute !== undefined)
    return judgeRate(rows, requestsPerMinute, () => 1, isHammered);
  if (tokensPerMinute !== undefined) {
    return judgeRate(rows, tokensPerMinute, (row) => row.chargedTokens ?? 0, isHammered);
  }
  if (userRequestsPerMinute !== undefined) {
    const parts = ["ann", "bob"].map((user) =>
      judgeRate(
        rows.filter((row) => row.user === user),
        userRequestsPerMinute,
        () => 1,
        isHammered,
      ),
    );
    const text = parts.map((part) => part.text).join("; ");
    return { text, wrong: parts.flatMap((part) => part.wrong) };
  }
  return key.limits.maxParallel === undefined
    ? judgeMonth(rows)
    : judgeParallel(rows, key.limits.maxParallel, openMost);
}

/** That no window has too much is checked with the ledger; here, that the limit was used up. */
function judgeRate(
  rows: readonly LookedRow[],
  limit: number,
  amountOf: (row: LookedRow) => number,
  isHammered: boolean,
): KeyVerdict {
  const times = rows.map((row) => row.createdMs);
  const most = rateMost(limit, Math.max(...times) - Math.min(...times));
  const used = rows.reduce((sum, row) => sum + amountOf(row), 0);
  const wrong: string[] = [];
  if (used > most) wrong.push(`${used} of at most ${most}`);
  if (isHammered && used < most * usedShareMin) wrong.push(`only ${used} of ${most} were let in`);
  return { text: `${used} of at most ${most} by the model`, wrong };
}

function judgeParallel(rows: readonly LookedRow[], limit: number, openMost: number): KeyVerdict {
  // Open for at least that long: it was let in before it got its slot, and written down after.
  const intervals = rows.map(({ createdMs, durationMs, admittedMs }) => ({
    fromMs: createdMs,
    untilMs: createdMs + (durationMs ?? 0) - (admittedMs ?? durationMs ?? 0) - 2,
  }));
  const most = overlapMost(intervals);
  const text = `at most ${most} overlap by the ledger, ${openMost} open at a look, limit ${limit}`;
  const wrong = most > limit || openMost > limit ? [text] : [];
  return { text: `${rows.length} let in; ${text}`, wrong };
}

function judgeMonth(rows: readonly LookedRow[]): KeyVerdict {
  const charged = rows.reduce((sum, row) => sum + (row.chargedTokens ?? 0), 0);
  const isExact = rows.length === monthRequests && charged === monthRequests * cost;
  const text = `${rows.length} let in of ${monthRequests}, ${charged} tokens`;
  return { text, wrong: isExact ? [] : [text] };
}
