/** Kills Postgres itself under load: the server stays, refuses, and goes on when it is back. */
import { setTimeout as delay } from "node:timers/promises";
import { Random } from "../fuzz/random.ts";
import { type ProofPart, tally, timesLine } from "./figures.ts";
import { limitsOfEveryKind, makeKeys, ProofClients } from "./proof-clients.ts";
import type { ProofDatabase } from "./proof-database.ts";
import { ProofServer, tinyModelOptions } from "./proof-server.ts";
import { lookAndCheck, recover, settledWithinMs } from "./server-kills.ts";

export interface DatabaseKillOptions {
  readonly database: ProofDatabase;
  readonly times: number;
  readonly clients: number;
  readonly seed: number;
}

const deadlineMs = 60_000;
const betweenMsMax = 2_000;
const awayMsMax = 3_000;
const noticedMs = 300;
const monthTokens = 20_000;

export async function runDatabaseKills(
  options: DatabaseKillOptions,
): Promise<readonly ProofPart[]> {
  const { database, times, seed } = options;
  const { postgres } = database;
  if (postgres === undefined) throw new Error("only a server of its own can be killed");
  const random = new Random(seed);
  const keys = await makeKeys(database.settings, limitsOfEveryKind(monthTokens));
  const server = new ProofServer({ options: [...tinyModelOptions, ...database.options] });
  const url = await server.start();
  const clients = new ProofClients({ ...options, keys, deadlineMs, url: () => url });
  const outages: { readonly fromMs: number; readonly untilMs: number }[] = [];
  const recoveryMs: number[] = [];
  const violations: string[] = [];
  try {
    for (let done = 0; done < times; done += 1) {
      await delay(500 + random.fraction() * betweenMsMax);
      await postgres.crash(done % 2 === 0 ? "SIGQUIT" : "SIGKILL");
      // Its own processes notice a moment later.
      const fromMs = performance.now() + noticedMs;
      await delay(random.fraction() * awayMsMax);
      const untilMs = performance.now();
      await postgres.start();
      outages.push({ fromMs, untilMs });
      const backMs = performance.now();
      if (await clients.letIn(url, "free", settledWithinMs))
        recoveryMs.push(performance.now() - backMs);
      else violations.push("the server does not answer after Postgres came back");
    }
    const recovery = await recover(url, clients, database);
    await clients.end();
    const isSameServer = server.process.exitCode === null && server.process.signalCode === null;
    if (!isSameServer) violations.push("the server ended");
    const { told } = clients;
    const away = told.filter(({ sentMs, endedMs }) =>
      outages.some(({ fromMs, untilMs }) => sentMs > fromMs && endedMs < untilMs),
    );
    const others = away.filter(({ end, status }) => end !== "refused" || status !== 503);
    const cut = told.filter(({ end }) => end === "cut" || end === "unreachable");
    violations.push(...others.map(({ end, status }) => `while it was away: ${end} ${status}`));
    violations.push(...cut.map(({ end }) => `a connection broke off: ${end}`));
    const code = await server.stop();
    if (code !== 0) violations.push(`the server ended with ${code}`);
    const kills: ProofPart = {
      title: `Postgres killed ${times} times under a server that stays`,
      figures: [
        ["answers while it was away", tally(away.map(({ end, status }) => `${end} ${status}`))],
        ["streams ended by an error frame", tally(told.flatMap((each) => frameError(each)))],
        ["until the next answer", timesLine(recoveryMs)],
        ...recovery.figures,
      ],
      violations: [...recovery.violations, ...violations],
    };
    return [kills, await lookAndCheck(database, clients)];
  } finally {
    await clients.end();
    await server.kill();
  }
}

const frameError = ({
  end,
  error,
}: {
  readonly end: string;
  readonly error: string | undefined;
}) => (end === "error" ? [error ?? "no error"] : []);
