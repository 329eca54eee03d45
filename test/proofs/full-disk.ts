/** The disk of the database is full for a while, under load. */
import { setTimeout as delay } from "node:timers/promises";
import type { Told } from "./asking.ts";
import { type ProofPart, tally } from "./figures.ts";
import { limitsOfEveryKind, makeKeys, ProofClients } from "./proof-clients.ts";
import type { ProofDatabase } from "./proof-database.ts";
import { ProofServer, tinyModelOptions } from "./proof-server.ts";
import { lookAndCheck, settledWithinMs } from "./server-kills.ts";
import { smallDisk } from "./small-disk.ts";

export interface FullDiskOptions {
  readonly seconds: number;
  readonly clients: number;
  readonly seed: number;
}

const deadlineMs = 60_000;
const monthTokens = 20_000;
/** Until the last page that was free is written. */
const fillingMs = 500;

export async function runFullDisk(options: FullDiskOptions): Promise<readonly ProofPart[]> {
  const { seconds } = options;
  const disk = smallDisk();
  const settings = { database: undefined, dataFolder: disk.folder };
  const database: ProofDatabase = {
    kind: "sqlite",
    settings,
    options: ["--data", disk.folder],
    postgres: undefined,
    remove: async () => disk.remove(),
  };
  const keys = await makeKeys(settings, limitsOfEveryKind(monthTokens));
  const server = new ProofServer({ options: [...tinyModelOptions, ...database.options] });
  const clients = new ProofClients({ ...options, keys, deadlineMs, url: () => server.url });
  const violations: string[] = [];
  try {
    const url = await server.start();
    const ready = async () => (await fetch(`${url}/health/ready`)).status;
    await delay(1000);
    disk.fill(server.pid);
    const fullMs = performance.now() + fillingMs;
    await delay(seconds * 1000);
    const readyWhileFull = await ready();
    if (readyWhileFull !== 503) violations.push(`/health/ready gave ${readyWhileFull}`);
    const freeMs = performance.now();
    disk.free(server.pid);
    if (!(await clients.letIn(url, "free", settledWithinMs))) {
      violations.push("nothing is answered after there is room again");
    }
    const recoveryMs = performance.now() - freeMs;
    await delay(1000);
    await clients.end();
    const readyAfter = await ready();
    if (readyAfter !== 200) violations.push(`/health/ready gave ${readyAfter} at the end`);
    const code = await server.stop();
    if (code !== 0) violations.push(`the server ended with ${code}: ${server.output()}`);
    const { told } = clients;
    const meanwhile = told.filter(({ sentMs, endedMs }) => sentMs > fullMs && endedMs < freeMs);
    // What a limit refuses needs no room on the disk.
    const isRefusal = ({ end, status }: Told) =>
      end === "refused" && (status === 503 || status === 429);
    const others = meanwhile.filter((each) => !isRefusal(each));
    violations.push(...others.map(({ end, status }) => `with a full disk: ${end} ${status}`));
    const hintless = meanwhile.filter(
      ({ status, retryAfterMs }) => status === 503 && retryAfterMs === undefined,
    );
    if (hintless.length > 0) violations.push(`${hintless.length} refusals do not say when to come`);
    const frames = told.flatMap(({ end, error }) => (end === "error" ? [error ?? ""] : []));
    const part: ProofPart = {
      title: `a full disk (${disk.error}) for ${seconds} s`,
      figures: [
        ["answers meanwhile", tally(meanwhile.map(({ end, status }) => `${end} ${status}`))],
        ["streams ended by an error frame", tally(frames)],
        ["until the next answer", `${Math.round(recoveryMs)} ms`],
      ],
      violations,
    };
    return [part, await lookAndCheck(database, clients)];
  } finally {
    await clients.end();
    await server.kill();
    disk.remove();
  }
}
