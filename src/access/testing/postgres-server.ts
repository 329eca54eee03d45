/** A Postgres server of its own for tests, in a temporary folder, on a free port of loopback. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { chownSync, existsSync, mkdtempSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";

export interface PostgresServer {
  /** Makes an empty database and gives its URL. */
  newDatabase(): Promise<string>;
  /** Ends all connections and comes back on the same port only with `start`. */
  stop(): Promise<void>;
  start(): Promise<void>;
  /** SIGQUIT: an immediate stop. SIGKILL: it is gone, and its own processes notice. */
  crash(signal: "SIGQUIT" | "SIGKILL"): Promise<void>;
  /** Stops it and removes its files. */
  remove(): Promise<void>;
}

/** Where Postgres' programs are; undefined when they are not installed. */
export function postgresPrograms(): string | undefined {
  const packaged = "/usr/lib/postgresql";
  const versions = existsSync(packaged) ? readdirSync(packaged) : [];
  const folders = versions
    .toSorted((a, b) => Number(b) - Number(a))
    .map((version) => join(packaged, version, "bin"));
  const onPath = (process.env.PATH ?? "").split(delimiter).map((folder) => join(folder, "initdb"));
  folders.push(...onPath.filter(existsSync).map((file) => dirname(realpathSync(file))));
  return folders.find((folder) => existsSync(join(folder, "initdb")));
}

/** Postgres refuses to run as root: then another account of the machine runs it. */
function account(): { readonly uid?: number; readonly gid?: number } {
  if (process.getuid?.() !== 0) return {};
  for (const name of ["postgres", "nobody"]) {
    try {
      const id = (flag: string) => Number(execFileSync("id", [flag, name], { stdio: "pipe" }));
      return { uid: id("-u"), gid: id("-g") };
    } catch {
      // There is no such account.
    }
  }
  throw new Error("Postgres cannot run as root, and there is no account to run it.");
}

const superuser = "tester";
const readyTries = 400;
const readyPauseMs = 50;
const startTries = 20;
const startPauseMs = 250;

export async function startPostgres(programs: string): Promise<PostgresServer> {
  const folder = mkdtempSync(join(tmpdir(), "completionist-postgres-"));
  const runAs = account();
  if (runAs.uid !== undefined && runAs.gid !== undefined) chownSync(folder, runAs.uid, runAs.gid);
  const data = join(folder, "data");
  const flags = ["-D", data, "-U", superuser, "-A", "trust", "-E", "UTF8", "--no-locale", "-N"];
  execFileSync(join(programs, "initdb"), flags, { ...runAs, cwd: folder, stdio: "pipe" });
  const port = await freePort();
  const url = (database: string) => `postgres://${superuser}@127.0.0.1:${port}/${database}`;
  let child: ChildProcess | undefined;
  let databases = 0;

  process.once("exit", () => child?.kill("SIGQUIT"));
  const spawnOnce = async () => {
    const settings = ["unix_socket_directories=", "fsync=off", "listen_addresses=127.0.0.1"];
    const args = ["-D", data, "-p", String(port), ...settings.flatMap((each) => ["-c", each])];
    const started = spawn(join(programs, "postgres"), args, {
      ...runAs,
      cwd: folder,
      stdio: "ignore",
    });
    child = started;
    await untilReady(url("postgres"), started);
  };
  const start = async () => {
    for (let tries = 1; ; tries += 1) {
      try {
        return await spawnOnce();
      } catch (error) {
        // After a crash its processes may still be there: it refuses to start beside them.
        if (tries === startTries) throw error;
        await delay(startPauseMs);
      }
    }
  };
  const end = async (signal: NodeJS.Signals) => {
    const running = child;
    child = undefined;
    if (running === undefined || running.exitCode !== null) return;
    const ended = new Promise((resolve) => running.once("exit", resolve));
    running.kill(signal);
    await ended;
  };
  // Fast shutdown: it ends connections instead of waiting for them.
  const stop = () => end("SIGINT");
  await start();
  return {
    start,
    stop,
    crash: end,
    newDatabase: async () => {
      databases += 1;
      const name = `test_${databases}`;
      await runSql(url("postgres"), `create database ${name}`);
      return url(name);
    },
    remove: async () => {
      await stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Runs statements on a connection of their own; gives the rows of the last one. */
export async function runSql(url: string, text: string): Promise<readonly unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const result: unknown = await client.query(text);
    const last = Array.isArray(result) ? (result.at(-1) as pg.QueryResult) : result;
    return (last as pg.QueryResult).rows;
  } finally {
    await client.end();
  }
}

async function untilReady(url: string, child: ChildProcess): Promise<void> {
  for (let tries = 0; tries < readyTries; tries += 1) {
    if (child.exitCode !== null) throw new Error(`Postgres ended with ${child.exitCode}.`);
    const ready = await runSql(url, "select 1").then(
      () => true,
      () => false,
    );
    if (ready) return;
    await delay(readyPauseMs);
  }
  throw new Error("Postgres does not answer.");
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === "string") throw new Error("There is no free port.");
  return address.port;
}
