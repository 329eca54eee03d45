/** Kills the server at random moments under load, starts it again, and looks at what is left. */
import { setTimeout as delay } from "node:timers/promises";
import { Random } from "../fuzz/random.ts";
import { type ProofPart, timesLine } from "./figures.ts";
import { checkLedger } from "./ledger-check.ts";
import { type LedgerLook, lookAtLedger } from "./ledger-look.ts";
import { limitsOfEveryKind, makeKeys, ProofClients } from "./proof-clients.ts";
import type { ProofDatabase } from "./proof-database.ts";
import { ProofServer, tinyModelOptions } from "./proof-server.ts";

export interface ServerKillOptions {
  readonly database: ProofDatabase;
  readonly times: number;
  readonly clients: number;
  readonly seed: number;
  readonly onProgress?: (done: number) => void;
}

const deadlineMs = 60_000;
/** Longest time that a server serves before it is killed. */
const servingMsMax = 1_200;
/** Share of kills that meet a server that starts, and how long after its beginning. */
const startingShare = 0.1;
const startingMsMax = 1_500;
/** What a killed server left open is closed within: Postgres' locks are watched for some seconds. */
export const settledWithinMs = 40_000;
/** Tokens of the key with a quota, for each kill: about what is charged meanwhile. */
const monthTokensEach = 250;

export async function runServerKills(options: ServerKillOptions): Promise<readonly ProofPart[]> {
  const { database, times, seed } = options;
  const random = new Random(seed);
  const keys = await makeKeys(database.settings, limitsOfEveryKind(times * monthTokensEach));
  const server = new ProofServer({ options: [...tinyModelOptions, ...database.options] });
  const clients = new ProofClients({ ...options, keys, deadlineMs, url: () => server.url });
  const startMs: number[] = [];
  let whileStarting = 0;
  try {
    for (let done = 0; done < times; done += 1) {
      if (random.chance(startingShare)) {
        whileStarting += 1;
        const started = server.start().catch(() => undefined);
        await delay(random.fraction() * startingMsMax);
        await server.kill();
        await started;
      } else {
        const beganMs = performance.now();
        await server.start();
        startMs.push(performance.now() - beganMs);
        await delay(random.fraction() * servingMsMax);
        await server.kill();
      }
      options.onProgress?.(done + 1);
    }
    await server.start();
    const recovery = await recover(server.url ?? "", clients, database);
    await clients.end();
    const code = await server.stop();
    const kills: ProofPart = {
      title: `server killed ${times} times on ${database.kind}`,
      figures: [
        ["killed while starting", whileStarting],
        ["time of a start", timesLine(startMs)],
        ...recovery.figures,
      ],
      violations: [
        ...recovery.violations,
        ...(code === 0 ? [] : [`the last server ended with ${code}`]),
      ],
    };
    return [kills, await lookAndCheck(database, clients)];
  } finally {
    await clients.end();
    await server.kill();
  }
}

export async function lookAndCheck(
  { settings }: ProofDatabase,
  { told, keys }: ProofClients,
): Promise<ProofPart> {
  const look = await lookAtLedger(settings);
  const facts = { rows: await look.requests(), months: await look.months(), told, keys };
  await look.close();
  return checkLedger(facts);
}

/** After the last start: open rows of dead servers are closed, and every limit lets in again. */
export async function recover(
  url: string,
  clients: ProofClients,
  { settings }: ProofDatabase,
): Promise<Pick<ProofPart, "figures" | "violations">> {
  const violations: string[] = [];
  const beganMs = performance.now();
  const sinceMs = () => `after ${Math.round(performance.now() - beganMs)} ms`;
  const figures: [string, string][] = [];
  for (const name of ["parallel", "requests", "tokens"]) {
    const isIn = await clients.letIn(url, name, settledWithinMs);
    figures.push([`key '${name}' let in again`, isIn ? sinceMs() : "never"]);
    if (!isIn) violations.push(`the key '${name}' is not let in again`);
  }
  const look = await lookAtLedger(settings);
  const isSettled = await untilSettled(look, beganMs);
  await look.close();
  figures.push(["lost rows settled", isSettled ? sinceMs() : "never"]);
  if (!isSettled) violations.push("rows of dead servers stay open");
  return { figures, violations };
}

/** Rows that are open are soon those of the server that lives: no row may stay for long. */
async function untilSettled(look: LedgerLook, beganMs: number): Promise<boolean> {
  const openIds = async () =>
    (await look.requests()).flatMap((row) => (row.outcome === "open" ? [row.completionId] : []));
  let left = new Set(await openIds());
  while (left.size > 0) {
    if (performance.now() - beganMs > settledWithinMs) return false;
    await delay(200);
    left = new Set((await openIds()).filter((id) => left.has(id)));
  }
  return true;
}
